// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dynamicclient

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// framer divides the body of a watch into events.
type framer struct {
	runtime.Framer
}

// NewFrameReader returns a reader of events. Each call of Read returns one of them, or a part of one and io.ErrShortBuffer.
func (framer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return &frameReader{ReadCloser: body, decoder: newDecoder(body)}
}

type frameReader struct {
	io.ReadCloser

	decoder *jsontext.Decoder
	// rest is what the buffers of the last calls had no room for.
	rest []byte
}

// Read implements the contract of runtime.Framer.
func (r *frameReader) Read(buffer []byte) (int, error) {
	if len(r.rest) == 0 {
		event, err := r.decoder.ReadValue()
		if err != nil {
			return 0, streamError(err)
		}
		r.rest = event
	}
	count := copy(buffer, r.rest)
	if r.rest = r.rest[count:]; len(r.rest) > 0 {
		return count, io.ErrShortBuffer
	}
	return count, nil
}

// streamError returns the error of the stream itself where there is one: a watch compares it with those that are an ordinary end.
func streamError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	if _, invalid := errors.AsType[*jsontext.SyntacticError](err); invalid {
		return err
	}
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}

// eventSerializer decodes the envelopes of watch events. It leaves all else to the standard serializer.
type eventSerializer struct {
	runtime.Serializer
}

// Decode implements runtime.Decoder. The object of an event is a part of data: it has to be decoded before data is reused.
func (s eventSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok && decodeEvent(data, event) {
		kind := metav1.Unversioned.WithKind("WatchEvent")
		return event, &kind, nil
	}
	return s.Serializer.Decode(data, defaults, into)
}

// decodeEvent reports whether data is a complete event.
func decodeEvent(data []byte, event *metav1.WatchEvent) bool {
	decoder := newDecoder(bytes.NewBuffer(data))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return false
	}
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() == jsontext.KindEndObject {
			return event.Type != "" && len(event.Object.Raw) > 0
		}
		switch name := token.String(); {
		case name == "type" && decoder.PeekKind() == jsontext.KindString:
			token, err = decoder.ReadToken()
			event.Type = token.String()
		case name == "object" && decoder.PeekKind() == jsontext.KindBeginObject:
			event.Object.Raw, err = decoder.ReadValue()
		default:
			err = decoder.SkipValue()
		}
		if err != nil {
			return false
		}
	}
}
