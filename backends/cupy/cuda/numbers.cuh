// The four dtypes: what a number is stored as, and what it is added up in.
#pragma once

#ifdef OPSPEC_EMULATED
#include "emulated.hpp"
#else
// Each takes as long to compile as a kernel does.
#ifdef OPSPEC_BFLOAT16
#include <cuda_bf16.h>
#endif
#ifdef OPSPEC_FLOAT16
#include <cuda_fp16.h>
#endif
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define SHARED_MEMORY(name) extern __shared__ __align__(128) unsigned char name[]
#endif

template <class T> struct Number;

template <> struct Number<float> {
    typedef float Sum;
    static __device__ __forceinline__ float wide(float value) { return value; }
    static __device__ __forceinline__ float rounded(float sum) { return sum; }
};

template <> struct Number<double> {
    typedef double Sum;
    static __device__ __forceinline__ double wide(double value) { return value; }
    static __device__ __forceinline__ double rounded(double sum) { return sum; }
};

#ifdef OPSPEC_FLOAT16
template <> struct Number<__half> {
    typedef float Sum;
    static __device__ __forceinline__ float wide(__half value) { return __half2float(value); }
    static __device__ __forceinline__ __half rounded(float sum) { return __float2half_rn(sum); }
};
#endif

#ifdef OPSPEC_BFLOAT16
template <> struct Number<__nv_bfloat16> {
    typedef float Sum;
    static __device__ __forceinline__ float wide(__nv_bfloat16 value) { return __bfloat162float(value); }
    static __device__ __forceinline__ __nv_bfloat16 rounded(float sum) { return __float2bfloat16_rn(sum); }
};
#endif
