// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// boundedBody is the body of a response. The exchange ends when the body was read or closed.
type boundedBody struct {
	io.ReadCloser

	exchange *exchange
	// taken is the weight of what was read so far, in bytes; for a watch, since the last event.
	taken  atomic.Int64
	weight weight
	close  sync.Once
}

// Read fails if the response is not complete in time, or is too large.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	count, err := b.ReadCloser.Read(buffer)
	if limit := b.take(buffer[:count]); limit > 0 {
		return 0, fmt.Errorf("the answer of the cluster at %s is larger than %d MiB, or has more than %d values", b.exchange.server, limit>>20, limit/valueWeight)
	}
	switch {
	case errors.Is(err, io.EOF):
		b.exchange.end()
	case err != nil:
		err = b.exchange.explain(err)
	}
	return count, err
}

// take weighs bytes. It returns the limit that they exceed, or 0.
func (b *boundedBody) take(content []byte) (exceeded int64) {
	bounds := b.exchange.bounds
	if !bounds.remote {
		return 0
	}
	total, rest, ended := b.weight.add(content)
	if b.exchange.endless {
		if b.weight.text {
			// Lines of logs are passed on as they come.
			total, rest, ended = int64(len(content)), 0, bytes.IndexByte(content, '\n') >= 0
		}
		if ended {
			b.taken.Store(rest)
			return 0
		}
		if b.taken.Add(total) > largestEvent {
			return largestEvent
		}
		return 0
	}
	if b.taken.Add(total) > b.exchange.largest {
		exceeded = b.exchange.largest
	}
	if bounds.open.Add(total) > largestAnswers {
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
