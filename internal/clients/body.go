// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// boundedBody is the body of a response. The exchange ends when the body was read or closed.
type boundedBody struct {
	io.ReadCloser

	exchange *exchange
	// taken is the number of bytes read so far; for a watch, since the last event.
	taken atomic.Int64
	close sync.Once
}

// Read fails with a NoAnswerError or a TooLargeError if the response is not complete in time, or is too large.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	count, err := b.ReadCloser.Read(buffer)
	if limit := b.take(buffer[:count]); limit > 0 {
		return 0, &TooLargeError{Server: b.exchange.server, Limit: limit}
	}
	switch {
	case errors.Is(err, io.EOF):
		b.exchange.end()
	case err != nil:
		err = b.exchange.explain(err)
	}
	return count, err
}

// take counts bytes. It returns the limit that they exceed, or 0.
func (b *boundedBody) take(content []byte) (exceeded int64) {
	bounds := b.exchange.bounds
	if !bounds.remote {
		return 0
	}
	if b.exchange.endless {
		// JSON events end with a newline. Binary events have many newlines, but clients limit their size.
		if end := bytes.LastIndexByte(content, '\n'); end >= 0 {
			b.taken.Store(int64(len(content) - end - 1))
			return 0
		}
		if b.taken.Add(int64(len(content))) > largestEvent {
			return largestEvent
		}
		return 0
	}
	if b.taken.Add(int64(len(content))) > b.exchange.largest {
		exceeded = b.exchange.largest
	}
	if bounds.open.Add(int64(len(content))) > largestAnswers {
		return largestAnswers
	}
	return exceeded
}

// Close ends the exchange, even if the body was not read.
func (b *boundedBody) Close() error {
	b.close.Do(func() {
		if !b.exchange.endless {
			b.exchange.bounds.open.Add(-b.taken.Load())
		}
	})
	b.exchange.end()
	return b.ReadCloser.Close()
}
