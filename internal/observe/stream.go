// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
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

// NewFrameReader returns a reader of events. Each call of Read returns one of them, or a part of one and io.ErrShortBuffer, as a decoder of package
// streaming expects it.
func (framer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	source := &streamSource{ReadCloser: body}
	return &frameReader{streamSource: source, decoder: newDecoder(source)}
}

// source is a body that keeps its error: a watch compares it with those that are an ordinary end, and the decoder wraps it.
type streamSource struct {
	io.ReadCloser

	err error
}

// Read reads from the body.
func (s *streamSource) Read(buffer []byte) (int, error) {
	count, err := s.ReadCloser.Read(buffer)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return count, err
}

type frameReader struct {
	*streamSource

	decoder *jsontext.Decoder
	// rest is what the buffers of the last calls had no room for.
	rest []byte
}

// Read returns an event, or a part of it.
func (r *frameReader) Read(buffer []byte) (int, error) {
	if len(r.rest) == 0 {
		event, err := r.decoder.ReadValue()
		switch {
		case err != nil && r.err != nil:
			return 0, r.err
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		}
		r.rest = event
	}
	count := copy(buffer, r.rest)
	if r.rest = r.rest[count:]; len(r.rest) > 0 {
		return count, io.ErrShortBuffer
	}
	return count, nil
}

// eventSerializer decodes the envelopes of watch events. It leaves all else to the standard serializer.
type eventSerializer struct {
	runtime.Serializer
}

// Decode implements runtime.Decoder. The object of an event is a part of data: it has to be decoded before data is reused.
func (s eventSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if target, ok := into.(*metav1.WatchEvent); ok {
		if event, ok := decodeEvent(data); ok {
			*target = event
			kind := metav1.Unversioned.WithKind("WatchEvent")
			return target, &kind, nil
		}
	}
	return s.Serializer.Decode(data, defaults, into)
}

// decodeEvent reports whether data is a complete event.
func decodeEvent(data []byte) (event metav1.WatchEvent, ok bool) {
	decoder := newBytesDecoder(data)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return event, false
	}
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return event, false
		}
		if token.Kind() == jsontext.KindEndObject {
			return event, event.Type != "" && len(event.Object.Raw) > 0
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
			return event, false
		}
	}
}
