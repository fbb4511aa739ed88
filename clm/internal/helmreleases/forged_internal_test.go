// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// record is what Helm would store for a revision.
func record(tb testing.TB, parts string) []byte {
	tb.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := writer.Write([]byte(`{"name":"web","version":1,"info":{"status":"deployed"}` + parts + `}`)); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
}

// allocated returns how many bytes a function allocates. Tests that call it are not parallel.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestForgedRecords are small as long as they are compressed.
//
//nolint:paralleltest // it measures the memory of the process
func TestForgedRecords(t *testing.T) {
	const size = 4 << 20
	many := func(value string) string {
		return strings.TrimSuffix(strings.Repeat(value, size/len(value)), ",")
	}
	manifest := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return `,"manifest":` + string(raw)
	}
	for _, test := range []struct{ reason, parts, want string }{
		{"a record that is too large", manifest(strings.Repeat("x", maxRecord)), "it has more than 33554432 bytes"},
		{"hooks", `,"hooks":[` + many(`{},`) + `]`, "decoding JSON: it has 2796207 values; must be at most 1048576"},
		{"an object with many nested lists", manifest("x:\n" + many(strings.Repeat("- ", 1000)+"a\n")), "decoding its manifests: it has "},
		{"a long name of a file", manifest("# Source: " + strings.Repeat("x", size) + "\na: 1"), "revision 1: parsing xxx"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			found := stored{object: object{kind: kindConfigMap, namespace: "default", name: "web"}, data: record(t, test.parts)}
			var err error
			bytes := allocated(func() {
				var revision Revision
				if revision, err = found.decode("default", "web"); err == nil {
					_, err = revision.Content()
				}
			})
			if text := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(text, test.want) || len(text) > 2*maxReason {
				t.Errorf("want %q, got %.200s (%d bytes)", test.want, text, len(text))
			}
			if bytes > 500<<20 {
				t.Errorf("%d bytes of memory were allocated", bytes)
			}
		})
	}
}

// FuzzRecord decodes what anybody may have written into a record.
func FuzzRecord(f *testing.F) {
	for _, parts := range []string{
		``, `,"config":{"a":1}`, `,"hooks":[{"path":"a","manifest":"a: 1"},{}]`, `,"manifest":"---\n# Source: a\nkind: List\nitems: [{}]"`, `,"info":{"last_deployed":"x","status":"a"}`,
		`,"manifest":"a: &a [1]\nb: [*a, *a]\n"`, `,"version":2`, `,"config":` + strings.Repeat("[", 20000),
	} {
		f.Add(`{"name":"web","version":1,"info":{"status":"deployed"}` + parts + `}`)
	}
	f.Add("\x1f\x8b\x08")
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		found := stored{object: object{kind: kindConfigMap, namespace: "default", name: "web"}, data: []byte(base64.StdEncoding.EncodeToString([]byte(text)))}
		revision, err := found.decode("default", "web")
		if err == nil {
			_, err = revision.Content()
		}
		if err != nil && len(err.Error()) > 2*maxReason {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
