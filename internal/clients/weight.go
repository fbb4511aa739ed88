// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"mime"
	"net/http"
	"strings"
)

// valueWeight is how many bytes of a response of a remote cluster each value counts at least: a text such as "{}," takes a hundred times as much memory when it is
// decoded. So 64 MiB have at most two million values.
const valueWeight = 32

// weight estimates the memory that a response takes when it is decoded. The zero value is for JSON.
type weight struct {
	encoding encoding
	quoted   bool
	escaped  bool
	depth    int
}

// encoding says what the values of a response look like.
type encoding int

const (
	jsonEncoding encoding = iota
	// binaryEncoding is protobuf: tags and lengths of small values are control characters.
	binaryEncoding
	// noEncoding is text that is not decoded.
	noEncoding
)

// add returns the weight of content, in bytes, and the weight of what follows the last complete JSON text in it; that is the same if no text ends in it.
func (w *weight) add(content []byte) (total, rest int64, ended bool) {
	total = int64(len(content))
	if w.encoding == noEncoding {
		return total, total, false
	}
	rest = total
	for i, c := range content {
		switch {
		case w.encoding == binaryEncoding:
			if c < ' ' {
				total += valueWeight
			}
			rest = total
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

// encodings are the encodings that clients decode although they have not asked for them.
var encodings = []string{"protobuf", "yaml", "cbor"}

// encodingOf returns the encoding of a response; false if it is one that was not asked for, so that the response is not from an API server.
func encodingOf(request *http.Request, response *http.Response) (encoding, bool) {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return jsonEncoding, true
	}
	for _, name := range encodings {
		if strings.Contains(media, name) {
			return binaryEncoding, strings.Contains(strings.Join(request.Header.Values("Accept"), ","), media)
		}
	}
	return jsonEncoding, true
}
