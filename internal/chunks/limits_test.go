// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
)

// compressed is what chunks.Pack makes, without its limits.
func compressed(tb testing.TB, content []byte) []byte {
	tb.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

// list is a JSON list of equal values that has about as many bytes.
func list(value string, size int) []byte {
	return []byte("[" + strings.TrimSuffix(strings.Repeat(value+",", size/(len(value)+1)), ",") + "]")
}

// reference is a list that refers to a content, with the right checksum.
func reference(tb testing.TB, content []byte, items int) chunks.List {
	tb.Helper()
	return chunks.List{Items: items, Checksum: chunks.Checksum([][]byte{content}), Packed: compressed(tb, content)}
}

// allocated returns how many bytes a function allocates. Tests that call it are not parallel.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// counted counts how many of its kind are decoded.
type counted struct{ Name string }

var decoded atomic.Int64

func (c *counted) UnmarshalJSON(raw []byte) error {
	decoded.Add(1)
	c.Name = string(raw)
	return nil
}

// TestForgedLists are references that somebody has written who can write the status of a component, or the Secret of a
// release, and knows how to make a checksum.
//
//nolint:paralleltest // it measures the memory of the process
func TestForgedLists(t *testing.T) {
	const item = `{"version":"v1","kind":"A","name":"a"}`
	for _, test := range []struct {
		reason  string
		content []byte
		items   int
		// decoded is how many items are decoded at most.
		decoded int
		want    string
	}{
		{"some KB that are 20 MiB unpacked", list("{}", 20<<20), 20 << 20, 0, "decompressing its content: it has more than 16777216 bytes"},
		{"more items than a list may have", list(`{}`, 1<<20), 350_000, 0, "the record lists 350000 items; must be at most 100000"},
		{"more items than the record says", list(item, 1<<20), 3, 4, "there are more than 3 items; the record lists 3"},
		{"nothing but nonsense", list(`{}`, 4<<20), 100_000, 0, "decoding a list of items: it has 2796202 values; must be at most 2000000"},
		{"nonsense after two items", []byte("[" + item + "," + item + ",{"), 100_000, 2, "decoding a list of items: unexpected EOF"},
		{"one item with too many values", []byte(`[{"managedTypes":` + string(list(`{}`, 4<<20)) + `}]`), 1, 0, "decoding a list of items: it has 2796204 values; must be at most 2000000"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			forged := reference(t, test.content, test.items)
			decoded.Store(0)
			var found chunks.Found
			var err error
			bytes := allocated(func() {
				if found, err = chunks.NewStore(chunks.Options{}).Load(t.Context(), forged); err == nil {
					chunks.Decode(&found, forged, func(*counted) error { return nil })
				}
			})
			if diff := cmp.Diff([]string{test.want}, found.Damage); diff != "" || err != nil {
				t.Errorf("damage (-want +got):\n%s\nerror: %v", diff, err)
			}
			if got := decoded.Load(); got > int64(test.decoded) {
				t.Errorf("%d items were decoded, want at most %d", got, test.decoded)
			}
			if bytes > 200<<20 {
				t.Errorf("%d bytes of memory were allocated", bytes)
			}
		})
	}
}

// fakeReader has the compressed contents of objects, and counts requests.
type fakeReader struct {
	client.Reader
	objects  map[string][]byte
	requests atomic.Int64
}

func (r *fakeReader) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	r.requests.Add(1)
	content, found := r.objects[key.Name]
	if !found {
		return fmt.Errorf("unexpected request for %s", key)
	}
	if configMap, ok := object.(*corev1.ConfigMap); ok {
		configMap.BinaryData = map[string][]byte{"content": content}
	}
	return nil
}

// TestForgedNames has references that name objects which are no chunks of the list, and more than there can be.
//
//nolint:paralleltest // it measures the memory of the process
func TestForgedNames(t *testing.T) {
	large := list(`"`+strings.Repeat("x", 1000)+`"`, 15<<20)
	reader := &fakeReader{}
	store := chunks.NewStore(chunks.Options{Kind: chunks.ConfigMap, Reader: reader, Namespace: "default", Prefix: "list-a"})
	reader.objects = map[string][]byte{store.Name(large): compressed(t, large)}
	foreign := func(name string) string {
		return "ConfigMap default/" + name + ": it is not a chunk of this list; its name must be list-a- and a digest"
	}
	for _, test := range []struct {
		reason   string
		names    []string
		requests int64
		want     []string
	}{
		{"any object", []string{"kube-root-ca.crt"}, 0, []string{foreign("kube-root-ca.crt")}},
		{"the path of another resource", []string{"../secrets/a"}, 0, []string{foreign("../secrets/a")}},
		{"a long name is cut", []string{strings.Repeat("a", 1<<20)}, 0, []string{foreign(strings.Repeat("a", 297) + "…")}},
		{"so is a long list of damages", slices.Repeat([]string{"a"}, 10), 0, append(slices.Repeat([]string{foreign("a")}, 8), "and 2 more")},
		{"more chunks than there can be", slices.Repeat([]string{store.Name(large)}, 5000), 0, []string{"there are 5000 chunks; must be at most 4096"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			reader.requests.Store(0)
			found, err := store.Load(t.Context(), chunks.List{Items: 1, Chunks: test.names})
			if diff := cmp.Diff(test.want, found.Damage); diff != "" || err != nil {
				t.Errorf("damage (-want +got):\n%s\nerror: %v", diff, err)
			}
			if got := reader.requests.Load(); got != test.requests {
				t.Errorf("%d requests were made, want %d", got, test.requests)
			}
		})
	}
	t.Run("the same chunk many times", func(t *testing.T) {
		reader.requests.Store(0)
		var found chunks.Found
		var err error
		bytes := allocated(func() { found, err = store.Read(t.Context(), slices.Repeat([]string{store.Name(large)}, 4096)) })
		if err != nil || len(found.Contents) > 4 || !strings.Contains(strings.Join(found.Damage, "; "), "the chunks of the list have more than 67108864 bytes") {
			t.Errorf("got %d contents, damage %v, error %v", len(found.Contents), found.Damage, err)
		}
		// Some of them are read at the same time.
		if got := reader.requests.Load(); got > 4+8 {
			t.Errorf("%d requests were made", got)
		}
		if bytes > 2<<30 {
			t.Errorf("%d bytes of memory were allocated", bytes)
		}
	})
}
