# AX_LL_FLAG(FLAGS, VARIABLE): appends each compiler flag that the compiler takes.
# SPDX-License-Identifier: Apache-2.0
AC_DEFUN([AX_LL_FLAG], [
  for ll_flag in $1; do
    ll_saved="$CFLAGS"; CFLAGS="$CFLAGS -Werror $ll_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [$2="$$2 $ll_flag"])
    CFLAGS="$ll_saved"
  done])

# LL_SANITIZERS: --enable-asan, -ubsan, -tsan, -coverage, -fuzzing.
AC_DEFUN([LL_SANITIZERS], [
  AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])])
  AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [build with UndefinedBehaviorSanitizer])])
  AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])])
  AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [build for gcov])])
  AC_ARG_ENABLE([fuzzing], [AS_HELP_STRING([--enable-fuzzing], [build the harnesses as libFuzzer programs (clang)])])
  AS_IF([test "x$enable_asan" = xyes && test "x$enable_tsan" = xyes],
        [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
  SANITIZE_FLAGS=
  AS_IF([test "x$enable_asan" = xyes], [SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=address -fno-omit-frame-pointer"])
  AS_IF([test "x$enable_ubsan" = xyes], [SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=undefined -fno-sanitize-recover=undefined"])
  AS_IF([test "x$enable_tsan" = xyes], [SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=thread"])
  AS_IF([test "x$enable_coverage" = xyes], [SANITIZE_FLAGS="$SANITIZE_FLAGS --coverage"])
  FUZZ_LDFLAGS=
  AS_IF([test "x$enable_fuzzing" = xyes], [
    ll_saved="$CFLAGS"; CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [],
                      [AC_MSG_ERROR([--enable-fuzzing needs a compiler with libFuzzer; configure with CC=clang])])
    CFLAGS="$ll_saved"
    SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=fuzzer-no-link"
    FUZZ_LDFLAGS=-fsanitize=fuzzer])
  AC_SUBST([SANITIZE_FLAGS])
  AC_SUBST([FUZZ_LDFLAGS])
  AM_CONDITIONAL([FUZZING], [test "x$enable_fuzzing" = xyes])
  AM_CONDITIONAL([SANITIZED], [test -n "$SANITIZE_FLAGS"])])
