# LL_CUDA: --with-cuda=auto|yes|no|PATH and --with-cuda-arch=LIST; finds nvcc.
# SPDX-License-Identifier: Apache-2.0
AC_DEFUN([LL_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=auto|yes|no|PATH], [build the CUDA plug-in (auto: when nvcc is found)])],
              [], [with_cuda=auto])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST|all],
              [comma-separated targets (default: sm_80,sm_90a; all: what releases carry)])],
              [], [with_cuda_arch=sm_80,sm_90a])
  NVCC=
  AS_CASE([$with_cuda],
    [no], [],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
  AS_IF([test -z "$NVCC" && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
        [AC_MSG_ERROR([nvcc was not found; install the CUDA toolkit or use --without-cuda])])
  AC_SUBST([NVCC])
  AS_IF([test "x$with_cuda_arch" = xall], [with_cuda_arch=sm_80,sm_89,sm_90a,sm_100,sm_120])
  CUDA_GENCODE=
  for ll_number in `echo "$with_cuda_arch" | tr ',' ' ' | sed 's/sm_//g'`; do
    AS_CASE([$ll_number],
      [[[0-9]*]], [CUDA_GENCODE="$CUDA_GENCODE -gencode=arch=compute_$ll_number,code=sm_$ll_number"],
      [AC_MSG_ERROR([--with-cuda-arch: $ll_number is no target like sm_90a])])
  done
  AC_SUBST([CUDA_GENCODE])
  AS_IF([test -n "$NVCC"], [CUDA_CPPFLAGS="-isystem `dirname "$NVCC"`/../include"])
  AC_SUBST([CUDA_CPPFLAGS])
  AM_CONDITIONAL([CUDA], [test -n "$NVCC"])])
