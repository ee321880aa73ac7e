# Whether libzmq was built with CurveZMQ: the kernel's spec may only promise encryption where it is.
# SPDX-License-Identifier: Apache-2.0
AC_DEFUN([LL_ZMQ_CURVE], [
  AC_CACHE_CHECK([whether libzmq has CurveZMQ], [ll_cv_zmq_curve], [
    ll_save_CFLAGS=$CFLAGS ll_save_LIBS=$LIBS
    CFLAGS="$CFLAGS $KERNEL_CFLAGS" LIBS="$LIBS $KERNEL_LIBS"
    AC_RUN_IFELSE([AC_LANG_PROGRAM([[#include <zmq.h>]], [[return !zmq_has("curve");]])],
      [ll_cv_zmq_curve=yes], [ll_cv_zmq_curve=no], [ll_cv_zmq_curve=no])
    CFLAGS=$ll_save_CFLAGS LIBS=$ll_save_LIBS
  ])
  KERNEL_ENCRYPTION=
  AS_IF([test "x$ll_cv_zmq_curve" = xyes], [KERNEL_ENCRYPTION=', "supported_encryption": [["curve"]]'])
  AC_SUBST([KERNEL_ENCRYPTION])
])
