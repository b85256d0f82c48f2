// A tile of a matrix product on tensor cores, whatever its operands are: `data` has a line for each
// row of the tile, `filter` one for each of its channels, and along a line go 64 bytes of depth k.
//
// Each warp of a block makes WARP_ROWS x WARP_CHANNELS of the tile, with its sums in registers, from
// panels in shared memory. mma.sync takes both operands with k contiguous. A panel whose operand is
// contiguous from line to line instead is kept as it lies, TURNED, and turned on the way into
// registers: by ldmatrix for 16-bit floats, and word by word for float32.
#pragma once

constexpr int WORDS_OF_DEPTH = 16;

template <class T, int LINES, bool TURNED> struct Panel {
    // 80 bytes from one line to the next, so that ldmatrix meets every bank once.
    uint32_t word[LINES][WORDS_OF_DEPTH + 4];

    // 16 lines from `first` on, by 8 words of k from `from` on, as mma.sync takes its left operand.
    __device__ __forceinline__ void left(uint32_t (&words)[4], int first, int from) const {
        const int lane = int(threadIdx.x) % 32;
        load_matrices(words, &word[first + lane % 16][from + lane / 16 * 4]);
    }

    // The same as two right operands, the second eight lines behind the first.
    __device__ __forceinline__ void right(uint32_t (&words)[4], int first, int from) const {
        const int lane = int(threadIdx.x) % 32;
        load_matrices(words, &word[first + lane / 16 * 8 + lane % 8][from + lane / 8 % 2 * 4]);
    }
};

template <class T, int LINES> struct Panel<T, LINES, true> {
    static constexpr int IN_WORD = 4 / int(sizeof(T));
    // Eight elements more than there are lines keep what a warp reads at once in different banks.
    union {
        T value[WORDS_OF_DEPTH * IN_WORD][LINES + 8];
        uint32_t word[WORDS_OF_DEPTH * IN_WORD][(LINES + 8) / IN_WORD];
    };

    __device__ __forceinline__ void left(uint32_t (&words)[4], int first, int from) const {
        const int lane = int(threadIdx.x) % 32, k = from * IN_WORD;
        if constexpr (IN_WORD == 2) {
            load_turned_matrices(words, &value[k + lane / 16 * 8 + lane % 8][first + lane / 8 % 2 * 8]);
        } else {
            #pragma unroll
            for (int n = 0; n < 4; n++)
                words[n] = bits(value[k + lane % 4 + n / 2 * 4][first + lane / 4 + n % 2 * 8]);
        }
    }

    __device__ __forceinline__ void right(uint32_t (&words)[4], int first, int from) const {
        const int lane = int(threadIdx.x) % 32, k = from * IN_WORD;
        if constexpr (IN_WORD == 2) {
            load_turned_matrices(words, &value[k + lane / 8 % 2 * 8 + lane % 8][first + lane / 16 * 8]);
        } else {
            #pragma unroll
            for (int n = 0; n < 4; n++)
                words[n] = bits(value[k + lane % 4 + n % 2 * 4][first + lane / 4 + n / 2 * 8]);
        }
    }

    static __device__ __forceinline__ uint32_t bits(const T& element) {
        return *reinterpret_cast<const uint32_t*>(&element);
    }
};

template <class T, int ROWS, int CHANNELS, int WARP_ROWS, int WARP_CHANNELS, bool VECTOR, bool DATA_TURNED, bool FILTER_TURNED>
struct TensorTile {
    static constexpr int ACROSS = CHANNELS / WARP_CHANNELS;
    static constexpr int THREADS = ROWS / WARP_ROWS * ACROSS * 32;
    static constexpr int IN_WORD = 4 / int(sizeof(T));
    static constexpr int WIDTH = 4 * IN_WORD;
    static constexpr int DEPTH = WORDS_OF_DEPTH * IN_WORD;
    static constexpr int TILES_DOWN = WARP_ROWS / 16;
    static constexpr int TILES_ACROSS = WARP_CHANNELS / 8;
    // How many elements are brought at once.
    static constexpr int LENGTH = VECTOR ? WIDTH : 1;
    typedef float Sums[TILES_DOWN][TILES_ACROSS][4];

    struct Slice {
        Panel<T, ROWS, DATA_TURNED> data;
        Panel<T, CHANNELS, FILTER_TURNED> filter;
    };

    // Brings part number `part` of what is contiguous from `to` on.
    static __device__ __forceinline__ void bring(uint32_t* to, int part, const T* from, int64_t offset, bool there) {
        if (VECTOR) {
            copy_16_bytes(to + part * 4, there ? from + offset : from, there);
        } else {
            reinterpret_cast<T*>(to)[part] = there ? from[offset] : Number<T>::rounded(0);
        }
    }

    static __device__ __forceinline__ void clear(Sums& sums) {
        #pragma unroll
        for (int i = 0; i < TILES_DOWN; i++)
            #pragma unroll
            for (int j = 0; j < TILES_ACROSS; j++)
                #pragma unroll
                for (int n = 0; n < 4; n++) sums[i][j][n] = 0;
    }

    static __device__ __forceinline__ void multiply(Sums& sums, const Slice& slice) {
        const int warp = int(threadIdx.x) / 32;
        const int first_row = warp / ACROSS * WARP_ROWS, first_channel = warp % ACROSS * WARP_CHANNELS;
        #pragma unroll
        for (int word = 0; word < WORDS_OF_DEPTH; word += 8) {
            uint32_t left[TILES_DOWN][4], right[TILES_ACROSS][2];
            #pragma unroll
            for (int i = 0; i < TILES_DOWN; i++) {
                slice.data.left(left[i], first_row + i * 16, word);
                as_taken(left[i]);
            }
            #pragma unroll
            for (int j = 0; j < TILES_ACROSS; j += 2) {
                uint32_t both[4];
                slice.filter.right(both, first_channel + j * 8, word);
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

    // Where this thread's sums lie in the tile: sums[i][j][n] is i * 16 + n / 2 * 8 rows below, and
    // j * 8 + n % 2 channels behind.
    static __device__ __forceinline__ int my_row() {
        const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
        return warp / ACROSS * WARP_ROWS + lane / 4;
    }

    static __device__ __forceinline__ int my_channel() {
        const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
        return warp % ACROSS * WARP_CHANNELS + lane % 4 * 2;
    }
};
