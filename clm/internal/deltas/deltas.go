// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deltas

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

const (
	// MaxSize is how large a content may be, together with its base, in bytes: a power of two. It bounds the memory that a frame takes which was made to do
	// harm: decompressed, and decoded as JSON, it needs about ten times as much. Ten thousand objects of 5 KiB are smaller, and so is all that one release of
	// Helm can hold. For decoding, it limits the content alone: earlier versions had a limit of 512 MiB, and their contents can be read up to this size, whatever their
	// bases are.
	MaxSize = 64 << 20
	// baseID identifies the base as a dictionary within one frame.
	baseID = 1
)

// ErrTooLarge says that a content is larger than MaxSize.
var ErrTooLarge = errors.New("the content is too large to be compressed")

// Encode compresses a content as its difference from a base. Without a base, it compresses the content by itself. The error is ErrTooLarge if they have more than
// MaxSize bytes.
func Encode(content, base []byte) ([]byte, error) {
	size := len(content) + len(base)
	if size > MaxSize {
		return nil, fmt.Errorf("%w: it has %d bytes, including its base; must be no more than %d", ErrTooLarge, size, MaxSize)
	}
	options := []zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderCRC(true), zstd.WithWindowSize(window(len(content), len(base))),
		zstd.WithLowerEncoderMem(true),
	}
	if len(base) > 0 {
		options = append(options, zstd.WithEncoderDictRaw(baseID, base))
	}
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("compressing a content: %w", err)
	}
	return encoder.EncodeAll(content, nil), nil
}

// Decode returns the content that was encoded with that base. The error means that the frame is damaged, that the base is another one, or that the content has more than
// MaxSize bytes, which it then says.
func Decode(frame, base []byte) ([]byte, error) {
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxSize), zstd.WithDecoderMaxMemory(MaxSize)}
	if len(base) > 0 {
		options = append(options, zstd.WithDecoderDictRaw(baseID, base))
	}
	decoder, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("decompressing a content: %w", err)
	}
	defer decoder.Close()
	content, err := decoder.DecodeAll(frame, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, fmt.Errorf("decompressing a content: it has more than %d bytes: %w", MaxSize, err)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing a content: %w", err)
	}
	return content, nil
}

// window returns the size of a window, a power of two. With a base, each place of the content sees what is at the same place in the base, or later there. A larger window
// takes memory, and saves only what has moved far towards the end.
func window(content, base int) int {
	const maxWindow = 2 << 20
	size := min(content, maxWindow)
	if base > 0 {
		size = base + base/8
	}
	return max(zstd.MinWindowSize, min(1<<bits.Len(uint(max(size, 1)-1)), MaxSize)) //nolint:gosec // sizes are positive
}
