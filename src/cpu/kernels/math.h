/* Vector exp and tanh, the same in every kernel, so that results do not depend on the path.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_KERNELS_MATH_H
#define CPU_KERNELS_MATH_H

#include "cpu/kernels/simd.h"

/* e^x within 2 ulp for -87 ≤ x ≤ 88; 0 below, the value at 88 above. The reduction and the polynomial
 * are Cephes' expf. */
INLINE vf vf_exp(vf x)
{
    vf bounded = vf_min(vf_max(x, vf_set(-87.0f)), vf_set(88.0f));
    vf n = vf_round(bounded * vf_set(1.44269504088896341f));
    vf r = vf_fma(n, vf_set(-0.693359375f), bounded);
    r = vf_fma(n, vf_set(2.12194440e-4f), r);
    vf p = vf_set(1.9875691500e-4f);
    p = vf_fma(p, r, vf_set(1.3981999507e-3f));
    p = vf_fma(p, r, vf_set(8.3334519073e-3f));
    p = vf_fma(p, r, vf_set(4.1665795894e-2f));
    p = vf_fma(p, r, vf_set(1.6666665459e-1f));
    p = vf_fma(p, r, vf_set(5.0000001201e-1f));
    p = vf_fma(p, r * r, r) + vf_set(1.0f);
    vf power = (vf)((vi_from_vf(n) + 127) << 23);
    return vf_select_less(x, vf_set(-87.0f), vf_set(0), p * power);
}

/* Cephes' tanhf: a polynomial near zero, e^2x further out. */
INLINE vf vf_tanh(vf x)
{
    vf size = vf_abs(x), z = x * x;
    vf p = vf_set(-5.70498872745e-3f);
    p = vf_fma(p, z, vf_set(2.06390887954e-2f));
    p = vf_fma(p, z, vf_set(-5.37397155531e-2f));
    p = vf_fma(p, z, vf_set(1.33314422036e-1f));
    p = vf_fma(p, z, vf_set(-3.33332819422e-1f));
    vf near = vf_fma(p * z, x, x);
    vf far = vf_set(1) - vf_set(2) / (vf_exp(size + size) + vf_set(1));
    far = (vf)((vu)far | ((vu)x & vu_set(0x80000000)));
    return vf_select_less(size, vf_set(0.625f), near, far);
}

#endif
