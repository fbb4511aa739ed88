// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"net/http"
	"slices"
	"strings"
)

// valueWeight is how many bytes of a response of a remote cluster each value counts at least: a text such as "{},"
// takes a hundred times as much memory when it is decoded. So 64 MiB have at most two million values.
const valueWeight = 32

// weight estimates the memory that a response in JSON takes when it is decoded.
type weight struct {
	// text is set if the response is not decoded.
	text bool

	quoted  bool
	escaped bool
	depth   int
}

// add returns the weight of content, in bytes, and the weight of what follows the last complete JSON text in it; that
// is the same if no text ends in it.
func (w *weight) add(content []byte) (total, rest int64, ended bool) {
	total = int64(len(content))
	if w.text {
		return total, total, false
	}
	rest = total
	for i, c := range content {
		switch {
		case w.escaped:
			w.escaped = false
		case w.quoted:
			w.quoted, w.escaped = c != '"', c == '\\'
		case c == '"':
			w.quoted = true
		case c == '{' || c == '[':
			w.depth++
			total, rest = total+valueWeight, rest+valueWeight
		case c == ',':
			total, rest = total+valueWeight, rest+valueWeight
		case c == '}' || c == ']':
			if w.depth--; w.depth == 0 {
				rest, ended = int64(len(content)-i-1), true
			}
		}
	}
	return total, rest, ended
}

// heavy are the encodings of an API server whose weight is not known.
var heavy = []string{"protobuf", "yaml", "cbor"}

// isHeavy reports whether a media type is one of a heavy encoding.
func isHeavy(media string) bool {
	return slices.ContainsFunc(heavy, func(name string) bool { return strings.Contains(strings.ToLower(media), name) })
}

// lighten removes heavy encodings from those that a request to a remote cluster accepts.
func lighten(request *http.Request) {
	accepted := strings.Join(request.Header.Values("Accept"), ",")
	if isHeavy(accepted) {
		request.Header = request.Header.Clone()
		request.Header.Set("Accept", strings.Join(slices.DeleteFunc(strings.Split(accepted, ","), isHeavy), ","))
	}
}
