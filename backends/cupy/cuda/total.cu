// Adds up what several blocks, or several slabs, have added up of a filter's gradient, and rounds.
//
// Idea: the parts lie one behind the other. One thread makes one element and takes the parts in their
// order, so that the result is the same on every call.

struct Parts {
    int64_t elements;  // of each part
    int64_t first_tile;
    int64_t count;
};

template <class T, int THREADS>
__device__ __forceinline__ void total(const typename Number<T>::Sum* __restrict__ parts, T* __restrict__ result,
                                      const Parts& problem) {
    const int64_t index = (problem.first_tile + blockIdx.x) * THREADS + threadIdx.x;
    if (index >= problem.elements) return;
    typename Number<T>::Sum sum = 0;
    for (int64_t part = 0; part < problem.count; part++) sum += parts[part * problem.elements + index];
    result[index] = Number<T>::rounded(sum);
}
