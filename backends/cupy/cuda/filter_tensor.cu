// The gradient of a convolution by its filter on tensor cores: float16 and bfloat16, and float32 where
// TF32 is allowed.
//
// Idea: the same product as in filter_simt.cu, its places shared out in the same way, made in tiles
// (tensor_tile.cuh) whose panels both lie turned: neighbouring channels are neighbours in memory, and
// the depth goes from place to place. Slices lie in a ring of STAGES, as in tensor.cu. What a block
// knows of the places of a slice is worked out by a few threads before it is brought.
//
// VECTOR: channels of both operands are contiguous and aligned, and are copied 16 bytes at a time.
// Otherwise operands may lie in any way and are read one by one, places first if BY_PLACE (as NCDHW
// lies).

template <class T, int ROWS, int CHANNELS, int WARP_ROWS, int WARP_CHANNELS, int STAGES, bool VECTOR, bool BY_PLACE>
struct FilterTensor : TensorTile<T, ROWS, CHANNELS, WARP_ROWS, WARP_CHANNELS, VECTOR, true, true> {
    typedef TensorTile<T, ROWS, CHANNELS, WARP_ROWS, WARP_CHANNELS, VECTOR, true, true> Base;
    typedef typename Base::Slice Slice;
    typedef typename Base::Sums Sums;
    using Base::DEPTH;
    using Base::LENGTH;
    using Base::THREADS;

    struct Memory {
        Row row[ROWS];
        Place place[2][DEPTH];
        Slice ring[STAGES];
    };

    static __device__ __forceinline__ void run(const T* __restrict__ input, const T* __restrict__ gradient,
                                               T* __restrict__ result, float* __restrict__ parts,
                                               const Windows& windows) {
        SHARED_MEMORY(raw);
        Memory& memory = *reinterpret_cast<Memory*>(raw);
        const FilterTile tile(windows, ROWS, CHANNELS);
        for (int i = int(threadIdx.x); i < ROWS; i += THREADS) memory.row[i] = row_of(windows, tile.row + i);
        look_up(memory, windows, tile, 0);
        __syncthreads();

        Sums sums;
        Base::clear(sums);
        const int steps = int((tile.end - tile.first + DEPTH - 1) / DEPTH);
        for (int step = 0; step < STAGES - 1; step++) {
            if (step < steps) bring(memory, step, input, gradient, windows, tile.channel);
            close_copies();
            look_up(memory, windows, tile, step + 1);
            __syncthreads();
        }
        for (int step = 0; step < steps; step++) {
            wait_for_copies<STAGES - 2>();
            __syncthreads();
            const int ahead = step + STAGES - 1;
            if (ahead < steps) bring(memory, ahead, input, gradient, windows, tile.channel);
            close_copies();
            look_up(memory, windows, tile, ahead + 1);
            Base::multiply(sums, memory.ring[step % STAGES]);
        }
        wait_for_copies<0>();
        write(result, parts + tile.to, sums, windows, memory, tile.channel);
    }

    // Works out the places of a step. Those two steps before are no longer needed.
    static __device__ __forceinline__ void look_up(Memory& memory, const Windows& windows, const FilterTile& tile,
                                                   int step) {
        const int thread = int(threadIdx.x);
        if (thread < DEPTH)
            memory.place[step % 2][thread] = place_of(windows, tile.first + int64_t(step) * DEPTH + thread, tile.end);
    }

    // Brings the slices of a step into the ring.
    static __device__ __forceinline__ void bring(Memory& memory, int step, const T* __restrict__ input,
                                                 const T* __restrict__ gradient, const Windows& windows,
                                                 int first_channel) {
        constexpr int PARTS_DOWN = ROWS / LENGTH, PARTS_ACROSS = CHANNELS / LENGTH;
        Slice& slice = memory.ring[step % STAGES];
        #pragma unroll
        for (int i = int(threadIdx.x); i < DEPTH * PARTS_DOWN; i += THREADS) {
            const int k = BY_PLACE ? i % DEPTH : i / PARTS_DOWN, part = BY_PLACE ? i / DEPTH : i % PARTS_DOWN;
            const Row& row = memory.row[part * LENGTH];
            const Place& place = memory.place[step % 2][k];
            Base::bring(slice.data.word[k], part, input, row.from + place.from, meets(windows, row, place));
        }
        #pragma unroll
        for (int i = int(threadIdx.x); i < DEPTH * PARTS_ACROSS; i += THREADS) {
            const int k = BY_PLACE ? i % DEPTH : i / PARTS_ACROSS, part = BY_PLACE ? i / DEPTH : i % PARTS_ACROSS;
            const Place& place = memory.place[step % 2][k];
            const int c = first_channel + part * LENGTH;
            Base::bring(slice.filter.word[k], part, gradient, place.other + c * windows.other_strides[4],
                        place.inside && c < windows.out_channels);
        }
    }

    static __device__ __forceinline__ void write(T* __restrict__ result, float* __restrict__ parts, Sums& sums,
                                                 const Windows& windows, const Memory& memory, int first_channel) {
        const int row_in_tile = Base::my_row(), channel = first_channel + Base::my_channel();
        #pragma unroll
        for (int i = 0; i < Base::TILES_DOWN; i++)
            #pragma unroll
            for (int j = 0; j < Base::TILES_ACROSS; j++)
                #pragma unroll
                for (int n = 0; n < 4; n++) {
                    const Row& row = memory.row[row_in_tile + i * 16 + n / 2 * 8];
                    const int c = channel + j * 8 + n % 2;
                    if (!row.inside || c >= windows.out_channels) continue;
                    if (windows.whole) {
                        result[row.to + c] = Number<T>::rounded(sums[i][j][n]);
                    } else {
                        parts[row.to + c] = sums[i][j][n];
                    }
                }
    }
};
