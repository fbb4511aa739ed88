// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deltas_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/component-operator/runtime/clm/internal/deltas"
)

// noise has that many bytes, which cannot be compressed.
func noise(length int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(length))) //nolint:gosec // lengths are positive
	content := make([]byte, length)
	for i := range content {
		content[i] = byte(random.IntN(256)) //nolint:gosec // it is below 256
	}
	return content
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	large := noise(3 << 20)
	for _, test := range []struct {
		reason        string
		content, base []byte
		// limit is how large the result may be.
		limit int
	}{
		{"nothing", nil, nil, 20},
		{"nothing, from something", nil, large, 20},
		{"something by itself", bytes.Repeat([]byte("text "), 10_000), nil, 100},
		{"what cannot be compressed", noise(100_000), nil, 101_000},
		{"the same", large, large, 1000},
		{"one byte in the middle", slices.Concat(large[:1<<20], []byte{0}, large[1<<20+1:]), large, 1000},
		{"something is inserted at the beginning, and something is missing at the end", slices.Concat(noise(500), large[:2<<20]), large, 2000},
		{"something moves to the beginning", slices.Concat(large[2<<20:5<<19], large[:2<<20], large[5<<19:]), large, 1000},
		{"nothing in common", noise(100_000), large, 101_000},
		{"a small base", slices.Concat([]byte("a"), large[:200], []byte("b")), large[:200], 100},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			frame, err := deltas.Encode(test.content, test.base)
			if err != nil {
				t.Fatal(err)
			}
			if len(frame) > test.limit {
				t.Errorf("want at most %d bytes, got %d", test.limit, len(frame))
			}
			content, err := deltas.Decode(frame, test.base)
			if err != nil || !bytes.Equal(content, test.content) {
				t.Errorf("got %d bytes instead of %d, error %v", len(content), len(test.content), err)
			}
			again, err := deltas.Encode(test.content, test.base)
			if err != nil || !bytes.Equal(again, frame) {
				t.Errorf("want the same result again, error %v", err)
			}
		})
	}
}

// TestWrongBase must not lead to another content.
func TestWrongBase(t *testing.T) {
	t.Parallel()
	base := noise(10_000)
	content := slices.Concat(base[:5000], []byte("new"), base[5000:])
	frame, err := deltas.Encode(content, base)
	if err != nil {
		t.Fatal(err)
	}
	edited := slices.Clone(base)
	edited[77]++
	for reason, other := range map[string][]byte{"none": nil, "edited": edited, "shorter": base[:9000], "longer": append(noise(1), base...)} {
		if got, err := deltas.Decode(frame, other); err == nil && !bytes.Equal(got, content) {
			t.Errorf("%s: got another content of %d bytes without an error", reason, len(got))
		} else if err == nil && reason != "longer" {
			t.Errorf("%s: want an error", reason)
		}
	}
	for i := range frame {
		damaged := slices.Clone(frame)
		damaged[i]++
		if got, err := deltas.Decode(damaged, base); err == nil && !bytes.Equal(got, content) {
			t.Errorf("byte %d is damaged: got another content of %d bytes without an error", i, len(got))
		}
		if got, err := deltas.Decode(frame[:i], base); err == nil && i > 0 {
			t.Errorf("only %d bytes are left: want an error, got %d bytes", i, len(got))
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	large := make([]byte, deltas.MaxSize/2+1)
	want := fmt.Sprintf("the content is too large to be compressed: it has %d bytes, including its base; must be no more than %d", 2*len(large), deltas.MaxSize)
	if _, err := deltas.Encode(large, large); !errors.Is(err, deltas.ErrTooLarge) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// earlier encodes as versions did whose limit was 512 MiB.
func earlier(t *testing.T, content, base []byte) []byte {
	t.Helper()
	size := len(content) + len(base)
	options := []zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true), zstd.WithWindowSize(1 << bits.Len(uint(size))),
	}
	if len(base) > 0 {
		options = append(options, zstd.WithEncoderDictRaw(1, base))
	}
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(content, nil)
}

// TestEarlierFrames has contents that could be larger, together with their bases.
func TestEarlierFrames(t *testing.T) {
	t.Parallel()
	const most = deltas.MaxSize
	large := bytes.Repeat(noise(1<<20), most>>20+1)
	for _, test := range []struct {
		reason        string
		content, base []byte
		tooLarge      bool
	}{
		{"together they are larger", large[1 : most-1000], large[:most], false},
		{"as large as possible", large[:most], nil, false},
		{"too large", large[:most+1], nil, true},
	} {
		content, err := deltas.Decode(earlier(t, test.content, test.base), test.base)
		switch {
		case test.tooLarge && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it has more than %d bytes", most))):
			t.Errorf("%s: want the limit to be named, got %v", test.reason, err)
		case !test.tooLarge && (err != nil || !bytes.Equal(content, test.content)):
			t.Errorf("%s: got %d bytes instead of %d, error %v", test.reason, len(content), len(test.content), err)
		}
	}
}
