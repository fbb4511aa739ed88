// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"bytes"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v2"
)

// Encode returns the YAML document with this content, which is as Decode returns it. The keys of maps are sorted. The result is that of encoding it as JSON, and
// converting the JSON to YAML, as Kubernetes does, in a third of the time; only whole numbers beyond int64 have an exponent. It is safe for concurrent use.
func Encode(content any) ([]byte, error) {
	e, _ := encoders.Get().(*encoder)
	if e == nil {
		e = &encoder{}
		e.yaml = yaml.NewEncoder(&e.text)
	}
	e.text.Reset()
	if err := e.yaml.Encode(content); err != nil {
		return nil, fmt.Errorf("encoding YAML: %w", err)
	}
	document := e.text.Bytes()
	if e.written > 0 {
		document = document[len("---\n"):] // which separates it from the one before; a blank instead of the line feed if the content has no lines
	}
	if e.written += len(document); e.written < maxWritten {
		document = bytes.Clone(document)
		encoders.Put(e)
	}
	return document, nil
}

// maxWritten is how many bytes an encoder writes. A new one takes 400 KB for its buffers; an old one does not give back some bytes for each value that it has written.
const maxWritten = 64 << 10

// encoder writes one document after the other.
type encoder struct {
	text    bytes.Buffer
	yaml    *yaml.Encoder
	written int // bytes
}

var encoders sync.Pool // of *encoder
