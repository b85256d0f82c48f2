// Conv3DBackpropInputV2 on tensor cores: float16 and bfloat16, and float32 where TF32 is allowed.
//
// Idea: the product of a phase (problem.cuh),
//
//     result[row, c] = sum over (tap, k) of out_backprop[row's place at tap, k] * filter[tap, c, k]
//
// needs no transposing: k is contiguous in both operands, which is just how mma.sync takes them. A
// block makes ROWS x CHANNELS, each of its warps WARP_ROWS x WARP_CHANNELS of that, in float32.
// Depth goes by in steps of 64 bytes of k. Slices of both operands lie in a ring of STAGES: while one
// is multiplied, copies into the others are under way (cp.async), and each thread waits for its own
// copies only. A slice's lines are 80 bytes apart, so that ldmatrix meets every bank once.
//
// The sums are rounded once, put into shared memory and written to the result along whichever axis
// is contiguous there.
//
// VECTOR: k is contiguous and aligned in both operands, and is copied 16 bytes at a time. Otherwise
// operands may lie in any way and are read one by one, rows first if BY_ROW (as NCDHW lies).

template <class T, int ROWS, int CHANNELS, int WARP_ROWS, int WARP_CHANNELS, int STAGES, bool VECTOR, bool BY_ROW>
struct Tensor {
    static constexpr int ACROSS = CHANNELS / WARP_CHANNELS;
    static constexpr int THREADS = ROWS / WARP_ROWS * ACROSS * 32;
    static constexpr int WORDS = 16;
    static constexpr int PITCH = WORDS + 4;
    static constexpr int IN_WORD = 4 / int(sizeof(T));
    static constexpr int WIDTH = 4 * IN_WORD;
    static constexpr int DEPTH = WORDS * IN_WORD;
    static constexpr int TILES_DOWN = WARP_ROWS / 16;
    static constexpr int TILES_ACROSS = WARP_CHANNELS / 8;

    struct Slice {
        uint32_t data[ROWS][PITCH];
        uint32_t filter[CHANNELS][PITCH];
    };

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
            memory.row[i] = row_of(problem, phases, tile.row + i);
        __syncthreads();

        float sums[TILES_DOWN][TILES_ACROSS][4];
        #pragma unroll
        for (int i = 0; i < TILES_DOWN; i++)
            #pragma unroll
            for (int j = 0; j < TILES_ACROSS; j++)
                #pragma unroll
                for (int n = 0; n < 4; n++) sums[i][j][n] = 0;

        const int steps = phases.taps() * ((problem.out_channels + DEPTH - 1) / DEPTH);
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
            multiply(sums, memory.ring[step % STAGES]);
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
        constexpr int PARTS = VECTOR ? WORDS / 4 : DEPTH;
        constexpr int LENGTH = DEPTH / PARTS;
        #pragma unroll
        for (int i = int(threadIdx.x); i < ROWS * PARTS; i += THREADS) {
            const int line = BY_ROW ? i % ROWS : i / PARTS;
            const int part = BY_ROW ? i / ROWS : i % PARTS;
            const int k = depth.channel + part * LENGTH;
            const Row& row = memory.row[line];
            const bool there = k < problem.out_channels && depth.meets(problem, row);
            bring(slice.data[line], part, data, row.from + depth.from + k * problem.from_strides[4], there);
        }
        #pragma unroll
        for (int i = int(threadIdx.x); i < CHANNELS * PARTS; i += THREADS) {
            const int line = i / PARTS, part = i % PARTS;
            const int k = depth.channel + part * LENGTH, c = first_channel + line;
            const bool there = k < problem.out_channels && c < problem.in_channels;
            bring(slice.filter[line], part, filter,
                  depth.filter + c * problem.filter_strides[3] + k * problem.filter_strides[4], there);
        }
        depth.advance(problem, phases, DEPTH);
    }

    static __device__ __forceinline__ void bring(uint32_t* line, int part, const T* from, int64_t offset,
                                                 bool there) {
        if (VECTOR) {
            copy_16_bytes(line + part * 4, there ? from + offset : from, there);
        } else {
            reinterpret_cast<T*>(line)[part] = there ? from[offset] : Number<T>::rounded(0);
        }
    }

    static __device__ __forceinline__ void multiply(float (&sums)[TILES_DOWN][TILES_ACROSS][4], const Slice& slice) {
        const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
        const int first_row = warp / ACROSS * WARP_ROWS, first_channel = warp % ACROSS * WARP_CHANNELS;
        #pragma unroll
        for (int word = 0; word < WORDS; word += 8) {
            uint32_t left[TILES_DOWN][4], right[TILES_ACROSS][2];
            #pragma unroll
            for (int i = 0; i < TILES_DOWN; i++) {
                load_matrices(left[i], &slice.data[first_row + i * 16 + lane % 16][word + lane / 16 * 4]);
                as_taken(left[i]);
            }
            #pragma unroll
            for (int j = 0; j < TILES_ACROSS; j += 2) {
                uint32_t both[4];
                load_matrices(both, &slice.filter[first_channel + j * 8 + lane / 16 * 8 + lane % 8]
                                                 [word + lane / 8 % 2 * 4]);
                as_taken(both);
                right[j][0] = both[0];
                right[j][1] = both[1];
                right[j + 1][0] = both[2];
                right[j + 1][1] = both[3];
            }
            #pragma unroll
            for (int i = 0; i < TILES_DOWN; i++)
                #pragma unroll
                for (int j = 0; j < TILES_ACROSS; j++) multiply_add<T>(sums[i][j], left[i], right[j]);
        }
    }

    static __device__ __forceinline__ void as_taken(uint32_t (&words)[4]) {
        if (IN_WORD == 1)
            #pragma unroll
            for (int n = 0; n < 4; n++) words[n] = as_tf32(words[n]);
    }

    static __device__ __forceinline__ void keep(Memory& memory, float (&sums)[TILES_DOWN][TILES_ACROSS][4]) {
        const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
        const int row = warp / ACROSS * WARP_ROWS + lane / 4;
        const int channel = warp % ACROSS * WARP_CHANNELS + lane % 4 * 2;
        #pragma unroll
        for (int i = 0; i < TILES_DOWN; i++)
            #pragma unroll
            for (int j = 0; j < TILES_ACROSS; j++)
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
            if (!row.inside || c >= problem.in_channels) continue;
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
