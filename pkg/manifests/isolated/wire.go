// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"encoding/binary"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// maxMessage is the limit for a message, in bytes.
const maxMessage = 16 << 20

// The conversation: the operator sends one request. The process sends any number of calls, one at a time, gets an answer to each, and
// finally sends the outcome. Messages are preceded by their length. They are CBOR, which, unlike JSON, distinguishes integers
// from floats, and does not change text.

// request is the input of a rendering.
type request struct {
	Generator    string       `json:"generator"`
	Fingerprint  string       `json:"fingerprint"`
	Memory       int64        `json:"memory"`
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	Parameters   *carried     `json:"parameters"`
	Surroundings surroundings `json:"surroundings"`
}

// message is either a call or the outcome.
type message struct {
	Call    *call    `json:"call"`
	Outcome *outcome `json:"outcome"`
}

// outcome is the result of a rendering.
type outcome struct {
	Objects []object `json:"objects"`
	Failure *failure `json:"failure"`
	// ReadCluster reports that the objects depend on the state of a cluster.
	ReadCluster bool `json:"readCluster"`
}

// tooLargeError means that a message was too large. No part of it was sent.
type tooLargeError struct{ size int }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("it takes %d bytes, of which at most %d can be sent between an isolated generator and the operator", e.size, maxMessage)
}

// frame returns the bytes of a message.
func frame(content any) ([]byte, error) {
	raw, err := direct.Marshal(content)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxMessage {
		return nil, tooLargeError{len(raw)}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...), nil
}

func send(writer io.Writer, content any) error {
	framed, err := frame(content)
	if err != nil {
		return err
	}
	_, err = writer.Write(framed)
	return err
}

// receive returns io.EOF if there are no more messages.
func receive(reader io.Reader, content any) error {
	var header [4]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxMessage {
		return tooLargeError{int(size)}
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(reader, raw); err != nil {
		return fmt.Errorf("reading a message of %d bytes: %w", size, err)
	}
	return direct.Unmarshal(raw, content)
}
