// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"fmt"
	"runtime"
	"strings"
)

const (
	// MaxOutput is the limit for all texts of a rendering together, in bytes: 16 MiB.
	MaxOutput = 16 << 20
	// MaxDepth is the number of nested calls of include and tpl.
	MaxDepth = 1000
	// maxFrames protects the stack of the process: between two calls of include, the action template may nest a hundred
	// thousand times.
	maxFrames = 100_000
)

// noValue is what text/template writes for nil.
const noValue = "<no value>"

// limits counts the text and the nested calls of a rendering.
type limits struct {
	depth       int
	output      int
	keepNoValue bool
}

// limitError means that a template exceeded a limit.
type limitError struct {
	template string
	text     string
}

func (e *limitError) Error() string { return fmt.Sprintf("template %q %s", e.template, e.text) }

// enter is called when a template with the given name is about to be rendered within another one.
func (l *limits) enter(name string) error {
	var frame [1]uintptr
	if l.depth >= MaxDepth || runtime.Callers(maxFrames, frame[:]) > 0 {
		return &limitError{name, fmt.Sprintf("is rendered within itself or others too deeply; at most %d levels are allowed", MaxDepth)}
	}
	l.depth++
	return nil
}

func (l *limits) leave() { l.depth-- }

// output collects the text of one template.
type output struct {
	strings.Builder
	name   string
	limits *limits
}

// Write leaves out the text for nil, unless it is kept for now: text/template writes each value separately.
func (o *output) Write(text []byte) (int, error) {
	if !o.limits.keepNoValue && string(text) == noValue {
		return len(text), nil
	}
	if o.limits.output+len(text) > MaxOutput {
		return 0, &limitError{o.name, fmt.Sprintf("yields too much text; at most %d bytes are allowed", MaxOutput)}
	}
	o.limits.output += len(text)
	return o.Builder.Write(text)
}

// complete returns the text of a file or of tpl.
func (o *output) complete() string {
	if o.limits.keepNoValue {
		return strings.ReplaceAll(o.String(), noValue, "")
	}
	return o.String()
}

// release is called if the text is dropped.
func (o *output) release() { o.limits.output -= o.Len() }
