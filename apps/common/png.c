/* Pictures: a PNG file of one compressed block (PNG specification, third edition), by zlib. */
#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void big_endian(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* A chunk: length, kind, content, checksum of kind and content. */
static int chunk(FILE *file, const char *kind, const unsigned char *data, size_t size)
{
    unsigned char word[4];
    uint32_t sum = (uint32_t)crc32(crc32(0, (const Bytef *)kind, 4), data, (uInt)size);
    big_endian(word, (uint32_t)size);
    int good = fwrite(word, 1, 4, file) == 4 && fwrite(kind, 1, 4, file) == 4 &&
               fwrite(data, 1, size, file) == size;
    big_endian(word, sum);
    return good && fwrite(word, 1, 4, file) == 4;
}

/* Rows with their filter in front: 0, as they are, or 2, each byte less the byte above it. */
static unsigned char *filtered(int width, int height, const unsigned char *rgb, int filter)
{
    size_t row = 3 * (size_t)width;
    unsigned char *out = app_memory((row + 1) * (size_t)height, 1), *at = out;
    for (int y = 0; y < height; y++) {
        const unsigned char *line = rgb + row * (size_t)y;
        *at++ = (unsigned char)filter;
        for (size_t i = 0; i < row; i++)
            *at++ = (unsigned char)(line[i] - (filter && y > 0 ? (line - row)[i] : 0));
    }
    return out;
}

/* The shorter of the two: points at random like no filter, smooth pictures do. NULL if zlib fails. */
static unsigned char *packed(int width, int height, const unsigned char *rgb, uLongf *size)
{
    uLong raw_size = (3 * (uLong)width + 1) * (uLong)height;
    unsigned char *best = NULL;
    for (int filter = 0; filter <= 2; filter += 2) {
        uLongf length = compressBound(raw_size);
        unsigned char *raw = filtered(width, height, rgb, filter), *out = app_memory(length, 1);
        int good = compress2(out, &length, raw, raw_size, Z_BEST_COMPRESSION) == Z_OK;
        free(raw);
        if (good && (!best || length < *size)) {
            free(best);
            best = out;
            *size = length;
        } else {
            free(out);
        }
    }
    return best;
}

int app_png(const struct app *app, const char *path, int width, int height,
            const unsigned char *rgb)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char head[13] = {0};
    big_endian(head, (uint32_t)width);
    big_endian(head + 4, (uint32_t)height);
    head[8] = 8, head[9] = 2; /* 8 bits, red green blue */
    uLongf size = 0;
    unsigned char *data = packed(width, height, rgb, &size);
    errno = 0;
    FILE *file = data ? fopen(path, "wb") : NULL;
    int good = file && fwrite(signature, 1, 8, file) == 8 && chunk(file, "IHDR", head, sizeof head) &&
               chunk(file, "IDAT", data, size) && chunk(file, "IEND", head, 0);
    if (file && fclose(file) != 0)
        good = 0;
    free(data);
    if (!good) {
        fprintf(stderr, "%s: the picture %s could not be written: %s\n", app->name, path,
                strerror(errno));
        return APP_FILE;
    }
    return 0;
}

void app_colour(double value, unsigned char rgb[3])
{
    static const double stops[5][3] = {
        {0, 0, 0}, {70, 10, 90}, {200, 50, 60}, {250, 170, 40}, {255, 255, 235}};
    double at = value < 0 || value != value ? 0 : value > 1 ? 4 : 4 * value;
    int low = at >= 4 ? 3 : (int)at;
    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)(stops[low][c] + (at - low) * (stops[low + 1][c] - stops[low][c]));
}

void app_colour_signed(double value, unsigned char rgb[3])
{
    static const double stops[5][3] = {
        {140, 215, 255}, {20, 95, 190}, {8, 8, 24}, {190, 60, 20}, {255, 215, 120}};
    double at = value != value ? 2 : value < -1 ? 0 : value > 1 ? 4 : 2 + 2 * value;
    int low = at >= 4 ? 3 : (int)at;
    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)(stops[low][c] + (at - low) * (stops[low + 1][c] - stops[low][c]));
}
