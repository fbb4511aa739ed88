// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/rest/watch"
)

var errRefused = errors.New("refused")

// decoderOf returns the decoder of a watch, as client-go puts it together.
func decoderOf(info runtime.SerializerInfo, body io.Reader) *watch.Decoder {
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(body))
	return watch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
}

// outcome is what decoding the next event has returned.
type outcome struct {
	Type   string
	Object runtime.Object
}

// outcomes decodes a stream up to the first error.
func outcomes(decoder *watch.Decoder) (all []outcome, last error) {
	for {
		kind, object, err := decoder.Decode()
		if err != nil {
			return all, err
		}
		all = append(all, outcome{Type: string(kind), Object: object})
	}
}

func TestSameEventsAsTheStandardSerializer(t *testing.T) {
	pod := func(name string) string { return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"}}` }
	streams := map[string]string{
		"events":         `{"type":"ADDED","object":` + pod("a") + "}\n" + `{"object":` + pod("b") + `,"type":"DELETED"}` + `{"type":"MODIFIED","more":[{}],"object":` + pod("c") + "}",
		"large event":    `{"type":"ADDED","object":` + pod(strings.Repeat("a", 100_000)) + "}\n" + `{"type":"ADDED","object":` + pod("b") + "}\n",
		"error":          `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","code":410,"reason":"Expired"}}`,
		"bookmark":       `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"7"}}}`,
		"type twice":     `{"type":"ADDED","type":"DELETED","object":` + pod("a") + "}",
		"unknown type":   `{"type":"RENAMED","object":` + pod("a") + "}",
		"no type":        `{"object":` + pod("a") + "}",
		"type a number":  `{"type":5,"object":` + pod("a") + "}",
		"no object":      `{"type":"ADDED"}`,
		"null object":    `{"type":"ADDED","object":null}`,
		"object a text":  `{"type":"ADDED","object":"a"}`,
		"object no kind": `{"type":"ADDED","object":{}}`,
		"no event":       `[]`,
		"cut":            `{"type":"ADDED","object":` + pod("a") + "}\n" + `{"type":"ADDED","obj`,
		"no JSON":        `{"type":"ADDED","object":` + pod("a") + "}\n" + `<html>`,
		"nothing":        ``,
	}
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			standard := decoderOf(jsonInfo(t, standardSerializers()), strings.NewReader(stream))
			own := decoderOf(jsonInfo(t, newSerializers(standardSerializers())), iotest.OneByteReader(strings.NewReader(stream)))
			wanted, wantedErr := outcomes(standard)
			got, err := outcomes(own)
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Error(diff)
			}
			if name == "no JSON" {
				return // the two libraries use other words
			}
			if err.Error() != wantedErr.Error() || errors.Is(err, io.EOF) != errors.Is(wantedErr, io.EOF) {
				t.Errorf("the stream ends with %v, want %v", err, wantedErr)
			}
		})
	}
}

// A watch treats some errors of the connection as an ordinary end, and compares them with ==.
func TestErrorsOfTheStreamAreNotWrapped(t *testing.T) {
	info := jsonInfo(t, newSerializers(standardSerializers()))
	const event = `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod"}}` + "\n"
	for _, begun := range []string{"", `{"type":"ADDED","object":{"apiVersion":"v1",`, `{"type":"ADDED","object":{"a":[`, `{"type`} {
		for _, cause := range []error{io.EOF, io.ErrUnexpectedEOF, context.Canceled, errRefused} {
			wanted := cause
			if begun != "" && errors.Is(cause, io.EOF) {
				wanted = io.ErrUnexpectedEOF
			}
			body := io.MultiReader(strings.NewReader(event+begun), iotest.ErrReader(cause))
			events, err := outcomes(decoderOf(info, body))
			if len(events) != 1 || err != wanted { //nolint:errorlint // not wrapped
				t.Errorf("%v after %q: %d events, and the error %v; want one, and %v", cause, begun, len(events), err, wanted)
			}
		}
	}
	_, err := outcomes(decoderOf(info, strings.NewReader("{]")))
	if _, invalid := errors.AsType[*jsontext.SyntacticError](err); !invalid {
		t.Errorf("the error of an invalid stream is %v", err)
	}
}

// The limit is that of client-go. The next event can be read after one that is too large.
func TestEventsAreLimited(t *testing.T) {
	const event = `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod"}}` + "\n"
	large := strings.Replace(event, "Pod", strings.Repeat("a", 16<<20), 1)
	decoder := decoderOf(jsonInfo(t, newSerializers(standardSerializers())), strings.NewReader(large+event))
	if _, _, err := decoder.Decode(); !errors.Is(err, streaming.ErrObjectTooLarge) {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := decoder.Decode(); err != nil {
		t.Error(err)
	}
}

// An event must not wait for the next one, which may come hours later.
func TestEventsDoNotWaitForMore(t *testing.T) {
	reader, writer := io.Pipe()
	defer func() { _ = reader.Close() }()
	timer := time.AfterFunc(time.Minute, func() { _ = writer.CloseWithError(errRefused) })
	defer timer.Stop()
	decoder := decoderOf(jsonInfo(t, newSerializers(standardSerializers())), reader)
	go func() { _, _ = io.WriteString(writer, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod"}}`) }()
	if _, _, err := decoder.Decode(); err != nil {
		t.Error(err)
	}
}

// The envelope has no copy of the object.
func TestTheObjectOfAnEventIsPartOfIt(t *testing.T) {
	data := []byte(`{"type":"ADDED","object":{"a":1}}`)
	event, ok := decodeEvent(data)
	if !ok {
		t.Fatal("not decoded")
	}
	if &event.Object.Raw[0] != &data[25] {
		t.Error("the object was copied")
	}
}
