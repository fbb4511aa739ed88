// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"slices"
)

// Item is an entry of the list.
type Item struct {
	// Key identifies the item, and determines its chunk.
	Key string
	// Value is the JSON form of the item.
	Value json.RawMessage
}

// maxCount is the maximum number of chunks.
const maxCount = 1 << 12

// Spread distributes items over contents, each of which is a non-empty JSON list of values. An item keeps its place
// while the number of contents is the same, so that a changed item changes one content. The number is a power of two.
// It starts at before, the former number (zero if there was none). It doubles while contents are larger than size bytes
// on average, or one is larger than twice that, and halves while they are smaller than a quarter of size on average.
func Spread(items []Item, before int, size int) [][]byte {
	total := Size(items)
	count := 1
	for count < before {
		count *= 2
	}
	for count < maxCount && total > count*size {
		count *= 2
	}
	for count > 1 && total < count*size/4 {
		count /= 2
	}
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	for {
		contents := distribute(sorted, count)
		if count >= maxCount || !slices.ContainsFunc(contents, func(content []byte) bool { return len(content) > 2*size }) {
			return contents
		}
		if total < count*size/4 {
			// A single item is that large; no number of contents would help.
			return contents
		}
		count *= 2
	}
}

// Join returns the JSON list of all values, in the order of the items.
func Join(items []Item) []byte {
	content := make([]byte, 0, Size(items)+1)
	content = append(content, '[')
	for i, item := range items {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, item.Value...)
	}
	return append(content, ']')
}

// Size returns the size of the values in a list with their separators, in bytes.
func Size(items []Item) (total int) {
	for _, item := range items {
		total += len(item.Value) + 1
	}
	return total
}

func distribute(items []Item, count int) [][]byte {
	buffers := make([]bytes.Buffer, count)
	for _, item := range items {
		buffer := &buffers[bucket(item.Key, count)]
		if buffer.Len() > 0 {
			buffer.WriteByte(',')
		}
		buffer.Write(item.Value)
	}
	contents := make([][]byte, 0, count)
	for i := range buffers {
		if buffers[i].Len() > 0 {
			contents = append(contents, slices.Concat([]byte{'['}, buffers[i].Bytes(), []byte{']'}))
		}
	}
	return contents
}

// bucket should not change between versions of this package, because all chunks would have to be written again.
func bucket(key string, count int) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(key))
	sum := hash.Sum64()
	// The low bits alone are not well mixed.
	return int((sum ^ sum>>32) % uint64(count)) //nolint:gosec // count is positive, and the result below it
}

// Checksum returns the SHA-256 of all contents, in their order, in lower-case hexadecimal.
func Checksum(contents [][]byte) string {
	hash := sha256.New()
	for _, content := range contents {
		_, _ = hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// digestLength is the length of a digest.
const digestLength = 32

// digest is a hash of a content, 128 bits long.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}
