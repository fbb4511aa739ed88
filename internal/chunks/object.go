// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

// newObject returns an object without metadata.
func (k Kind) newObject(packed []byte) client.Object {
	data := map[string][]byte{dataKey: packed}
	if k == Secret {
		return &corev1.Secret{Data: data, Immutable: new(true), Type: corev1.SecretTypeOpaque}
	}
	return &corev1.ConfigMap{BinaryData: data, Immutable: new(true)}
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
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("compressing a chunk: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compressing a chunk: %w", err)
	}
	if packed.Len() > maxStored {
		return nil, fmt.Errorf("an item is %w: its content takes %d bytes compressed; must be at most %d", ErrTooLarge, packed.Len(), maxStored)
	}
	return packed.Bytes(), nil
}

// Divide returns the contents of the chunks for a content that is not a list: the content itself, or its parts if no
// object could hold it. Size is how many bytes they take compressed. The error is ErrTooLarge if the content is larger
// than Read allows.
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

// unpack returns the content of an object, or an error that says what is wrong with it.
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
	handle := Handle{Namespace: object.GetNamespace(), UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion(), foreign: []string{}}
	for _, finalizer := range object.GetFinalizers() {
		if finalizer == s.options.Finalizer {
			handle.Held = true
		} else {
			handle.foreign = append(handle.foreign, finalizer)
		}
	}
	return handle
}
