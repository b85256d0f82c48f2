// Warp-wide matrix products on tensor cores, and copies that run beside them, as PTX names them.
#pragma once

#ifndef OPSPEC_EMULATED

// sums[16 x 8] += left[16 x depth] * right[depth x 8], depth being 8 words of 32 bits.
template <class T> __device__ __forceinline__ void multiply_add(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2]);

#define OPSPEC_MULTIPLY_ADD(T, SHAPE, KIND)                                                        \
    template <> __device__ __forceinline__ void multiply_add<T>(                                   \
        float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2]) {                 \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." KIND "." KIND ".f32 "               \
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                          \
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                  \
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]),      \
                       "r"(right[1]));                                                             \
    }
#ifdef OPSPEC_FLOAT16
OPSPEC_MULTIPLY_ADD(__half, "m16n8k16", "f16")
#endif
#ifdef OPSPEC_BFLOAT16
OPSPEC_MULTIPLY_ADD(__nv_bfloat16, "m16n8k16", "bf16")
#endif
OPSPEC_MULTIPLY_ADD(float, "m16n8k8", "tf32")
#undef OPSPEC_MULTIPLY_ADD

// Loads four matrices of 8 rows x 16 bytes; lane number l gives the address of row l % 8 of matrix
// l / 8, and gets word l % 4 of row l / 4 of each.
__device__ __forceinline__ void load_matrices(uint32_t (&words)[4], const uint32_t* row) {
    const unsigned address = unsigned(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
}

// The same of 16-bit floats, turned: word l % 4 of row l / 4 holds elements l / 4 of rows 2 * (l % 4)
// and the next.
__device__ __forceinline__ void load_turned_matrices(uint32_t (&words)[4], const void* row) {
    const unsigned address = unsigned(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
}

// Starts a copy of 16 bytes into shared memory, or of zeros if `there` is false.
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from, bool there) {
    const unsigned address = unsigned(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0));
}

// Closes a group of copies; then, all but the newest LEFT groups of this thread have arrived.
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;"); }

template <int LEFT> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(LEFT));
}

// float32 as the tensor cores take it: rounded to 10 bits after the point.
__device__ __forceinline__ uint32_t as_tf32(uint32_t bits) {
    uint32_t made;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made) : "f"(__uint_as_float(bits)));
    return made;
}

#endif
