# LL_CUDA: --with-cuda=auto|yes|no|PATH and --with-cuda-arch=LIST; finds nvcc.
# SPDX-License-Identifier: Apache-2.0
AC_DEFUN([LL_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=auto|yes|no|PATH], [build the CUDA plug-in (auto: when nvcc is found)])],
              [], [with_cuda=auto])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST], [comma-separated targets, e.g. sm_80,sm_90a (default: all supported)])],
              [], [with_cuda_arch=default])
  NVCC=
  AS_CASE([$with_cuda],
    [no], [],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
  AS_IF([test -z "$NVCC" && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
        [AC_MSG_ERROR([nvcc was not found; install the CUDA toolkit or use --without-cuda])])
  AC_SUBST([NVCC])
  AC_SUBST([CUDA_ARCH], [$with_cuda_arch])
  AM_CONDITIONAL([CUDA], [test -n "$NVCC"])])
