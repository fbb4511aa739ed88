// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// MaxItems is the maximum number of items in a list.
	MaxItems = 100_000
	// maxTotal is the maximum size of the contents of a list together, in bytes: 600 bytes for each of MaxItems.
	maxTotal = 64 << 20
	// maxValues is the maximum number of JSON values in a list: 20 for each of MaxItems.
	maxValues = 20 * MaxItems
)

// List is how a reference records a list of items: either packed into the reference itself, or as the names of chunks.
type List struct {
	// Items is the number of items.
	Items int `json:"items"`
	// Checksum is the Checksum function's result for the packed content, or for the contents of all chunks.
	Checksum string `json:"checksum"`
	// Packed is the JSON list of all items, compressed with gzip; empty if the items are in chunks.
	Packed []byte `json:"packed,omitempty"`
	// Chunks are the names of the chunks.
	Chunks []string `json:"chunks,omitempty"`
}

// PackItems returns a list without chunks. The error is ErrTooLarge if no object could hold it.
func PackItems(items []Item) (List, error) {
	content := Join(items)
	packed, err := Pack(content)
	if err != nil {
		return List{}, err
	}
	return List{Items: len(items), Checksum: Checksum([][]byte{content}), Packed: packed}, nil
}

// SpreadItems returns a list in chunks, and the contents of these chunks for Write. before and size are as in Spread.
func (s *Store) SpreadItems(items []Item, before int, size int) (List, [][]byte) {
	contents := Spread(items, before, size)
	list := List{Items: len(items), Checksum: Checksum(contents)}
	for _, content := range contents {
		list.Chunks = append(list.Chunks, s.Name(content))
	}
	return list, contents
}

// Holds reports whether the list has exactly these items. size must be the value that was given to SpreadItems;
// otherwise Holds may return false although the list has them.
func (l List) Holds(items []Item, size int) bool {
	contents := [][]byte{nil}
	if len(l.Chunks) > 0 {
		contents = Spread(items, len(l.Chunks), size)
	} else {
		contents[0] = Join(items)
	}
	return l.Items == len(items) && l.Checksum == Checksum(contents)
}

// Load reads the contents of a list. Damage and missing chunks are part of the result; see Read. A packed content with
// another checksum than the recorded one is left out.
func (s *Store) Load(ctx context.Context, list List) (Found, error) {
	found := Found{Intact: Handles{}}
	switch {
	case len(list.Chunks) > 0:
		var err error
		if found, err = s.Read(ctx, list.Chunks); err != nil {
			return Found{}, err
		}
	case len(list.Packed) > 0:
		content, err := Unpack(list.Packed)
		if err != nil {
			found.add(err.Error())
			break
		}
		found.Contents = [][]byte{content}
	}
	if len(found.Damage) == 0 && Checksum(found.Contents) != list.Checksum {
		found.add("the items do not have the recorded checksum")
		if len(list.Chunks) == 0 {
			found.Contents = nil
		}
	}
	return found, nil
}

// Decode returns the items of a list from the contents that Load has found. check returns an error for an invalid item.
// Decode stops at the first item that cannot be decoded or is refused, at the recorded number of items, and at the
// limits of a list: a client that can write the reference can also write its checksum, so intact contents may be
// malicious. Decode adds to the damage where it stopped, or that the number of items differs from the recorded one.
func Decode[T any](found *Found, list List, check func(T) error) []T {
	if len(found.Contents) == 0 && len(found.Damage) > 0 {
		return nil
	}
	if list.Items > MaxItems {
		found.add(fmt.Sprintf("the record lists %d items; must be at most %d", list.Items, MaxItems))
		return nil
	}
	if err := manifest.CheckJSON(maxValues, found.Contents...); err != nil {
		found.add("decoding a list of items: " + err.Error())
		return nil
	}
	var items []T
	for _, content := range found.Contents {
		if err := decodeEach(content, func(item T) error {
			if len(items) >= list.Items {
				return fmt.Errorf("there are more than %d items; the record lists %d", len(items), list.Items)
			}
			if err := check(item); err != nil {
				return fmt.Errorf("item %d %w", len(items), err)
			}
			items = append(items, item)
			return nil
		}); err != nil {
			found.add(err.Error())
			return items
		}
	}
	if len(found.Damage) == 0 && list.Items != len(items) {
		found.add(fmt.Sprintf("there are %d items; the record lists %d", len(items), list.Items))
	}
	return items
}

// decodeEach calls a function for each value of a JSON list until it returns an error.
func decodeEach[T any](content []byte, use func(T) error) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return fmt.Errorf("decoding a list of items: %w", cmp.Or(err, errors.New("it is not a list")))
	}
	for decoder.More() {
		var item T
		if err := decoder.Decode(&item); err != nil {
			return fmt.Errorf("decoding a list of items: %w", err)
		}
		if err := use(item); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("decoding a list of items: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decoding a list of items: something follows the list")
	}
	return nil
}

// Encode returns values as items, with the key of each. The error is ErrTooLarge if the list exceeds a limit, so that
// it could not be decoded.
func Encode[T any](values []T, key func(T) string) ([]Item, error) {
	items, failures := make([]Item, len(values)), make([]error, len(values))
	concurrent.Do(len(values), func(i int) {
		items[i].Key = key(values[i])
		items[i].Value, failures[i] = json.Marshal(values[i])
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, fmt.Errorf("encoding a list of items: %w", err)
	}
	if size := Size(items); len(items) > MaxItems || size > maxTotal {
		return nil, fmt.Errorf("%w: %d items take %d bytes; must be at most %d items and %d bytes", ErrTooLarge, len(items), size, MaxItems, maxTotal)
	}
	return items, nil
}

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

// EncodeInventory returns the dependents of an inventory as items, in the same order.
func EncodeInventory(list []*inventory.Item) ([]Item, error) {
	return Encode(list, func(item *inventory.Item) string { return types.IDOf(item).String() })
}

// DecodeInventory returns the dependents of a list from the contents that were found. It stops at an item that does not
// identify an object, and adds that to the damage: Encode never gets one.
func DecodeInventory(found *Found, list List) []*inventory.Item {
	return Decode(found, list, func(item *inventory.Item) error {
		if !identifiesObject(item) {
			return errors.New("does not name an object")
		}
		return nil
	})
}

// ValidInventory returns the items that identify an object. It changes the list.
func ValidInventory(list []*inventory.Item) []*inventory.Item {
	return slices.DeleteFunc(list, func(item *inventory.Item) bool { return !identifiesObject(item) })
}

func identifiesObject(item *inventory.Item) bool {
	return item != nil && item.Kind != "" && item.Version != "" && item.Name != ""
}

// Kind is a kind of objects that can hold a chunk.
type Kind string

const (
	// ConfigMap is the kind of ConfigMaps.
	ConfigMap Kind = "ConfigMap"
	// Secret is the kind of Secrets.
	Secret Kind = "Secret"
)

const (
	// dataKey is the key of the content in an object, compressed with gzip.
	dataKey = "content"
	// maxStored is the maximum size of the compressed content of an object, in bytes. The server allows 1 MiB of data.
	maxStored = 900 << 10
	// maxContent is the maximum size of a decompressed content, in bytes. Contents that Spread makes are smaller,
	// unless an item is that large.
	maxContent = 16 << 20
)

// ErrTooLarge means that an item is too large for a chunk, or that a list is larger than it may be.
var ErrTooLarge = errors.New("too large to be stored")

// newObject returns an object with the compressed content.
func (k Kind) newObject(namespace, name string, packed []byte) client.Object {
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
	data := map[string][]byte{dataKey: packed}
	if k == Secret {
		return &corev1.Secret{ObjectMeta: metadata, Data: data, Immutable: new(true), Type: corev1.SecretTypeOpaque}
	}
	return &corev1.ConfigMap{ObjectMeta: metadata, BinaryData: data, Immutable: new(true)}
}

// packedOf returns the compressed content of an object.
func packedOf(object client.Object) []byte {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		return object.BinaryData[dataKey]
	case *corev1.Secret:
		return object.Data[dataKey]
	default:
		return nil
	}
}

// writers are pooled, because each needs a megabyte.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Pack compresses a content. The error is ErrTooLarge if no object could hold the result.
func Pack(content []byte) ([]byte, error) {
	if len(content) > maxContent {
		return nil, fmt.Errorf("an item is %w: its content takes %d bytes; must be at most %d", ErrTooLarge, len(content), maxContent)
	}
	var packed bytes.Buffer
	writer, _ := writers.Get().(*gzip.Writer)
	defer writers.Put(writer)
	writer.Reset(&packed)
	_, err := writer.Write(content)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("compressing a chunk: %w", err)
	}
	if packed.Len() > maxStored {
		return nil, fmt.Errorf("an item is %w: its content takes %d bytes compressed; must be at most %d", ErrTooLarge, packed.Len(), maxStored)
	}
	return packed.Bytes(), nil
}

// Divide returns the contents of the chunks for a content that is not a list: the content itself, or its parts if no
// object could hold it. size is their total size in bytes after compression. The error is ErrTooLarge if the content is
// larger than Read allows.
func Divide(content []byte) (parts [][]byte, size int, err error) {
	if len(content) > maxTotal {
		return nil, 0, fmt.Errorf("it is %w: it takes %d bytes; must be at most %d", ErrTooLarge, len(content), maxTotal)
	}
	packed, err := Pack(content)
	if !errors.Is(err, ErrTooLarge) {
		return [][]byte{content}, len(packed), err
	}
	middle := len(content) / 2
	for _, half := range [][]byte{content[:middle], content[middle:]} {
		more, bytes, err := Divide(half)
		if err != nil {
			return nil, 0, err
		}
		parts, size = append(parts, more...), size+bytes
	}
	return parts, size, nil
}

// Unpack decompresses the result of Pack.
func Unpack(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompressing its content: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxContent+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing its content: %w", err)
	}
	if len(content) > maxContent {
		return nil, fmt.Errorf("decompressing its content: it has more than %d bytes", maxContent)
	}
	return content, nil
}

// unpack returns the content of an object, or an error that describes the damage.
func unpack(object client.Object, wanted string) ([]byte, error) {
	content, err := Unpack(packedOf(object))
	if err != nil {
		return nil, err
	}
	if digest(content) != wanted {
		return nil, errors.New("its content does not match its name")
	}
	return content, nil
}

// Handle identifies a chunk in its observed state.
type Handle struct {
	// Namespace of the chunk.
	Namespace string
	// UID of the chunk.
	UID string
	// ResourceVersion at which the chunk was observed.
	ResourceVersion string
	// Held means that the chunk has the finalizer.
	Held bool
	// foreign are the finalizers that are not ours.
	foreign []string
}

// Handles are chunks by name.
type Handles map[string]Handle

func (s *Store) handleOf(object metav1.Object) Handle {
	finalizers := append([]string{}, object.GetFinalizers()...) // in patches, a list that is nil would not be empty
	return Handle{
		Namespace: object.GetNamespace(), UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion(),
		Held:    slices.Contains(finalizers, s.options.Finalizer),
		foreign: slices.DeleteFunc(finalizers, func(finalizer string) bool { return finalizer == s.options.Finalizer }),
	}
}
