// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJoinDocument(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		chunks []string
		want   string
	}{
		{"in one chunk", []string{`[{"key":"values","value":{"a":1}},{"key":"b","value":{"n":"<"}},{"key":"order","value":["b"]}]`}, `{"values":{"a":1},"manifest":[{"n":"\u003c"}]}`},
		{
			"in parts and in any order",
			[]string{`[{"key":"b","parts":2,"part":1,"bytes":"fQ=="}]`, `[{"key":"order","value":["b","a"]},{"key":"a","value":{}}]`, `[{"key":"values","value":null},{"key":"b","parts":2,"bytes":"ew=="}]`},
			`{"values":null,"manifest":[{},{}]}`,
		},
		{"without objects", []string{`[{"key":"values","value":{}},{"key":"order","value":null}]`}, `{"values":{},"manifest":[]}`},
	} {
		var contents [][]byte
		for _, chunk := range test.chunks {
			contents = append(contents, []byte(chunk))
		}
		if got, err := joinDocument(contents); err != nil || string(got) != test.want {
			t.Errorf("%s: want %s, got %s, error %v", test.reason, test.want, got, err)
		}
	}
}

// TestForgedPieces were written by a user who may write Secrets.
func TestForgedPieces(t *testing.T) {
	t.Parallel()
	const rest = `,{"key":"values","value":{}}]`
	for content, want := range map[string]string{
		`[{"key":"order","value":["x"]},{"key":"x","parts":-1}` + rest:               "do not belong together",
		`[{"key":"x","parts":2,"part":-1},{"key":"x","parts":2,"part":1}` + rest:     "do not belong together",
		`[{"key":"x","parts":1000000000000}` + rest:                                  "do not belong together",
		`[{"key":"x","parts":2,"part":0}` + rest:                                     "do not belong together",
		`[{"key":"x","parts":2,"part":0},{"key":"x","parts":2,"part":0}` + rest:      "do not belong together",
		`[{"key":"x","parts":1,"part":1}` + rest:                                     "do not belong together",
		`[{"key":"order","value":["x"]}` + rest:                                      "x is missing",
		`[{"key":"order","value":{}}` + rest:                                         "decoding the order of the objects",
		`[{"key":"order","value":["x"]},{"key":"x","parts":1,"bytes":"ew=="}` + rest: "decoding a revision",
		`[{"key":"x"}` + rest:                                                        "the values or the order of the objects are missing",
		`{}`:                                                                         "decoding a chunk",
	} {
		if got, err := joinDocument([][]byte{[]byte(content)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %s, error %v", content, want, got, err)
		}
	}
}

// TestDocument encodes as json.Marshal does.
func TestDocument(t *testing.T) {
	t.Parallel()
	for _, document := range []Document{
		{Values: []byte("null"), Manifest: []json.RawMessage{}},
		{Values: []byte(`{"a":1}`), Manifest: []json.RawMessage{[]byte(`{"kind":"A"}`)}, Notes: "Read <this>."},
		{Values: []byte(`{}`), Manifest: []json.RawMessage{[]byte(`{"kind":"A"}`), []byte(`{"kind":"B"}`)}},
	} {
		want, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := document.Encode(); err != nil || string(got) != string(want) {
			t.Errorf("want %s, got %s, error %v", want, got, err)
		}
	}
}
