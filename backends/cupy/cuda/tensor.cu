// Either side of a convolution on tensor cores: float16 and bfloat16, and float32 where TF32 is allowed.
//
// Idea: the product of a phase (problem.cuh),
//
//     result[row, c] = sum over (tap, k) of data[row's place at tap, k] * filter[tap, c, k]
//
// is made in tiles (tensor_tile.cuh), in float32. Depth goes by in steps of 64 bytes of k. Slices of
// both operands lie in a ring of STAGES: while one is multiplied, copies into the others are under
// way (cp.async), and each thread waits for its own copies only.
//
// The sums are rounded once, put into shared memory and written to the result along whichever axis
// is contiguous there.
//
// VECTOR: operands are contiguous and aligned, and are copied 16 bytes at a time: the data along k,
// the filter along k or, of the FORWARD convolution, along c. Otherwise operands may lie in any way
// and are read one by one, the data rows first if BY_ROW (as NCDHW lies).

template <class T, int ROWS, int CHANNELS, int WARP_ROWS, int WARP_CHANNELS, int STAGES, bool VECTOR, bool BY_ROW, bool FORWARD>
struct Tensor : TensorTile<T, ROWS, CHANNELS, WARP_ROWS, WARP_CHANNELS, VECTOR, false, FORWARD> {
    typedef TensorTile<T, ROWS, CHANNELS, WARP_ROWS, WARP_CHANNELS, VECTOR, false, FORWARD> Base;
    typedef typename Base::Slice Slice;
    typedef typename Base::Sums Sums;
    using Base::DEPTH;
    using Base::LENGTH;
    using Base::THREADS;
    using Base::WIDTH;

    struct Memory {
        Row row[ROWS];
        union {
            Slice ring[STAGES];
            T result[ROWS][CHANNELS + WIDTH];
        };
    };

    static __device__ __forceinline__ void run(const T* __restrict__ data, const T* __restrict__ filter,
                                               T* __restrict__ result, const Problem& problem) {
        SHARED_MEMORY(raw);
        Memory& memory = *reinterpret_cast<Memory*>(raw);
        const Tile tile(problem, ROWS, CHANNELS);
        const Phases phases(problem, tile.phase);
        if (tile.row >= phases.rows) return;
        for (int i = int(threadIdx.x); i < ROWS; i += THREADS)
            memory.row[i] = row_of<FORWARD>(problem, phases, tile.row + i);
        __syncthreads();

        Sums sums;
        Base::clear(sums);
        const int steps = phases.taps() * ((problem.read_channels + DEPTH - 1) / DEPTH);
        Depth depth;
        depth.start(problem, phases);
        for (int step = 0; step < STAGES - 1; step++) {
            if (step < steps) bring(memory.ring[step], data, filter, problem, memory, phases, depth, tile.channel);
            close_copies();
        }
        for (int step = 0; step < steps; step++) {
            wait_for_copies<STAGES - 2>();
            __syncthreads();
            const int ahead = step + STAGES - 1;
            if (ahead < steps)
                bring(memory.ring[ahead % STAGES], data, filter, problem, memory, phases, depth, tile.channel);
            close_copies();
            Base::multiply(sums, memory.ring[step % STAGES]);
        }
        // The result's tile lies where the ring was.
        wait_for_copies<0>();
        __syncthreads();
        keep(memory, sums);
        __syncthreads();
        write(result, problem, memory, tile.channel);
    }

    // Brings a slice of both operands into the ring, then steps on in depth.
    static __device__ __forceinline__ void bring(Slice& slice, const T* __restrict__ data,
                                                 const T* __restrict__ filter, const Problem& problem,
                                                 const Memory& memory, const Phases& phases,
                                                 Depth& depth, int first_channel) {
        constexpr int PARTS = DEPTH / LENGTH, PARTS_ACROSS = CHANNELS / LENGTH;
        #pragma unroll
        for (int i = int(threadIdx.x); i < ROWS * PARTS; i += THREADS) {
            const int line = BY_ROW ? i % ROWS : i / PARTS;
            const int part = BY_ROW ? i / ROWS : i % PARTS;
            const int k = depth.channel + part * LENGTH;
            const Row& row = memory.row[line];
            const bool there = k < problem.read_channels && depth.meets(problem, row);
            Base::bring(slice.data.word[line], part, data,
                        row.from + depth.from + k * problem.from_strides[4], there);
        }
        #pragma unroll
        for (int i = int(threadIdx.x); i < CHANNELS * PARTS; i += THREADS) {
            const int line = FORWARD ? i / PARTS_ACROSS : i / PARTS;
            const int part = FORWARD ? i % PARTS_ACROSS : i % PARTS;
            const int k = depth.channel + (FORWARD ? line : part * LENGTH);
            const int c = first_channel + (FORWARD ? part * LENGTH : line);
            const bool there = k < problem.read_channels && c < problem.made_channels;
            Base::bring(slice.filter.word[line], part, filter,
                        depth.filter + c * problem.filter_strides[3] + k * problem.filter_strides[4], there);
        }
        depth.advance(problem, phases, DEPTH);
    }

    static __device__ __forceinline__ void keep(Memory& memory, Sums& sums) {
        const int row = Base::my_row(), channel = Base::my_channel();
        #pragma unroll
        for (int i = 0; i < Base::TILES_DOWN; i++)
            #pragma unroll
            for (int j = 0; j < Base::TILES_ACROSS; j++)
                #pragma unroll
                for (int n = 0; n < 4; n++)
                    memory.result[row + i * 16 + n / 2 * 8][channel + j * 8 + n % 2] =
                        Number<T>::rounded(sums[i][j][n]);
    }

    struct __align__(16) Vector { T value[WIDTH]; };

    static __device__ __forceinline__ void write(T* __restrict__ result, const Problem& problem,
                                                 const Memory& memory, int first_channel) {
        const int length = problem.wide ? WIDTH : 1, parts = CHANNELS / length;
        const bool along_channels = problem.to_strides[4] == 1;
        for (int i = int(threadIdx.x); i < ROWS * parts; i += THREADS) {
            const int line = along_channels ? i / parts : i % ROWS;
            const int channel = (along_channels ? i % parts : i / ROWS) * length;
            const Row& row = memory.row[line];
            const int c = first_channel + channel;
            if (!row.inside || c >= problem.made_channels) continue;
            T* to = result + row.to + c * problem.to_strides[4];
            const T* made = &memory.result[line][channel];
            if (problem.wide) {
                *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(made);
            } else {
                *to = *made;
            }
        }
    }
};
