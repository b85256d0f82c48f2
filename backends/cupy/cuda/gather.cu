// Adds up columns: the second half of a convolution done as one large matrix product.
//
// Idea: the product has already made, for every place o of out_backprop and every tap t, the vector
//
//     columns[o, t, c] = sum over k of out_backprop[o, k] * filter[t, c, k]
//
// in float32 (float64 for float64). Each element of the result collects the vectors that land on it
// and is rounded once. One thread makes one element; neighbours in a warp read neighbouring c.
//
// The columns are addressed as if they were the data, a place's stride leading to its taps, and the
// filter at once, a tap's stride leading to its vector: so rows and taps are found as everywhere.

template <class T, int THREADS>
__device__ __forceinline__ void gather(const typename Number<T>::Sum* __restrict__ columns,
                                       T* __restrict__ result, const Problem& problem) {
    int64_t m = (problem.first_tile + blockIdx.x) * THREADS + threadIdx.x;
    const int channel = divide(m, problem.made_channels);
    const Phases phases(problem, divide(m, problem.phases()));
    const Row row = row_of<false>(problem, phases, m);
    if (!row.inside) return;
    typename Number<T>::Sum sum = 0;
    Depth depth;
    depth.start(problem, phases);
    for (int left = phases.taps(); left > 0; left--) {
        if (depth.meets(problem, row)) sum += columns[row.from + depth.from + depth.filter + channel];
        depth.advance(problem, phases, problem.read_channels);
    }
    result[row.to + channel * problem.to_strides[4]] = Number<T>::rounded(sum);
}
