// What the windows of a convolution read, as a matrix: a line for each place of out_backprop (batch,
// position), a column for each row (tap, channel) of the filter as a matrix,
//
//     read[place, row] = input[n, o * stride + t * dilation - before, c],
//
// and 0 where that is outside the input. The convolution is this matrix times the filter; the
// filter's gradient is its transpose times out_backprop.
//
// A row and a place each have their share of the position, and of the address; the sums are made where
// an element is read.
#pragma once

struct WindowAxis {
    int input;
    int output;
    int kernel;
    int stride;
    int64_t dilation;
    int64_t before;
};

// Strides count elements: batch, depth, height, width, channel of input and of out_backprop.
struct Windows {
    int64_t first_place;
    int64_t places;       // the end of those that are read in this launch
    int64_t per_split;    // how many of them a block adds up
    int64_t rows;         // taps x channels
    int64_t first_tile;
    int64_t from_strides[5];
    int64_t other_strides[5];
    int in_channels;
    int out_channels;
    int first_split;
    int whole;            // whether a block's sums are the result's
    WindowAxis axis[3];
};

// A place's share: of a position, of an address of the input, and where it is in out_backprop.
struct Place {
    int64_t from;
    int64_t other;
    int at[3];
    int inside;  // whether there is such a place
};

// A tap far outside stays outside, whatever a place adds to it: those are below 2^30.
__device__ __forceinline__ int within_32_bits(int64_t at) {
    const int64_t least = -(int64_t(1) << 30), most = (int64_t(1) << 31) - 1;
    return int(at < least ? least : at > most ? most : at);
}

__device__ __forceinline__ Row row_of(const Windows& windows, int64_t number) {
    Row row;
    row.inside = number < windows.rows;
    int64_t rest = row.inside ? number : 0;
    row.to = rest * windows.out_channels;
    row.from = divide(rest, windows.in_channels) * windows.from_strides[4];
    for (int d = 2; d >= 0; d--) {
        const WindowAxis& axis = windows.axis[d];
        row.at[d] = within_32_bits(divide(rest, axis.kernel) * axis.dilation - axis.before);
        row.from += row.at[d] * windows.from_strides[d + 1];
    }
    return row;
}

__device__ __forceinline__ Place place_of(const Windows& windows, int64_t number, int64_t end) {
    Place place;
    place.inside = number < end;
    int64_t rest = place.inside ? number : 0;
    place.from = place.other = 0;
    for (int d = 2; d >= 0; d--) {
        const WindowAxis& axis = windows.axis[d];
        const int position = divide(rest, axis.output);
        place.at[d] = position * axis.stride;
        place.from += place.at[d] * windows.from_strides[d + 1];
        place.other += position * windows.other_strides[d + 1];
    }
    place.from += rest * windows.from_strides[0];
    place.other += rest * windows.other_strides[0];
    return place;
}

// Whether a row finds an input at a place. Sums below 0 wrap to far above any size.
__device__ __forceinline__ bool meets(const Windows& windows, const Row& row, const Place& place) {
    return row.inside && place.inside
           && unsigned(row.at[0]) + unsigned(place.at[0]) < unsigned(windows.axis[0].input)
           && unsigned(row.at[1]) + unsigned(place.at[1]) < unsigned(windows.axis[1].input)
           && unsigned(row.at[2]) + unsigned(place.at[2]) < unsigned(windows.axis[2].input);
}

// Which tile of the filter's gradient a block makes, and over which places it adds up. Channels go
// fastest and rows next: blocks that run at the same time read the same places.
struct FilterTile {
    int64_t row;
    int64_t first, end;
    int64_t to;  // where the sums of this split begin
    int channel;

    __device__ FilterTile(const Windows& windows, int rows, int channels) {
        int64_t rest = windows.first_tile + blockIdx.x;
        channel = divide(rest, (windows.out_channels + channels - 1) / channels) * channels;
        row = int64_t(divide(rest, int((windows.rows + rows - 1) / rows))) * rows;
        first = windows.first_place + rest * windows.per_split;
        end = first + windows.per_split < windows.places ? first + windows.per_split : windows.places;
        to = (windows.first_split + rest) * windows.rows * windows.out_channels;
    }
};
