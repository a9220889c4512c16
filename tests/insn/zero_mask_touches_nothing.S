/* SPDX-License-Identifier: MIT */
/* A mask register of zero suppresses the load and the store, wherever they point. */
# needs: avx512f avx512bw
#include "case.h"
CASE
    mov ebx, 24
    kxorq k1, k1, k1
    vmovdqu8 zmm0{k1}, [rbx]                # expect: none
    vmovups zmm0{k1}{z}, [rbx]              # expect: none
    vmovdqu64 [rbx]{k1}, zmm0               # expect: none
    vaddps zmm0{k1}, zmm1, [rbx]            # expect: none
    vaddps zmm0{k1}, zmm1, [rbx]{1to16}     # expect: none
    vmovss xmm0{k1}, [rbx]                  # expect: none
    vpcompressd [rbx]{k1}, zmm0             # expect: none
    vpexpandq zmm0{k1}, [rbx]               # expect: none
    vpmovdb [rbx]{k1}, zmm0                 # expect: none
    vbroadcastss zmm0{k1}, [rbx]            # expect: none
END
