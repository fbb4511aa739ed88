// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// errNoTerminal says why nothing is asked.
var errNoTerminal = errors.New("--interactive needs a terminal to ask on; give the flags instead")

// ask asks for required options that were not given, each until the answer is valid. Suggestions are taken with the
// enter key.
func (s *settings) ask(ctx context.Context, in io.Reader, out io.Writer) error {
	if file, ok := in.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return errNoTerminal
	}
	return s.askOn(ctx, bufio.NewReader(in), out)
}

func (s *settings) askOn(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	o := &s.options
	for _, question := range []struct {
		flag, text string
		value      *string
		suggestion func() string
	}{
		{"group-name", "API group of the component, such as shop.example.org", &o.GroupName, func() string { return "" }},
		{"kind", "Kind of the component, such as WebShop", &o.Kind, func() string { return "" }},
		{"operator-name", "Name that identifies the operator in clusters", &o.OperatorName, func() string { return strings.ToLower(o.Kind) + "." + o.GroupName }},
		{"go-module", "Path of the Go module, such as example.org/webshop-operator", &o.GoModule, func() string { return "" }},
	} {
		for *question.value == "" {
			suggestion := question.suggestion()
			prompt := question.text
			if suggestion != "" {
				prompt += " [" + suggestion + "]"
			}
			fmt.Fprint(out, prompt+": ")
			line, err := readLine(ctx, in)
			if err != nil {
				fmt.Fprintln(out)
				return fmt.Errorf("reading the answer for --%s: %w", question.flag, err)
			}
			answer := strings.TrimSpace(line)
			if answer == "" {
				answer = suggestion
			}
			if problem := project.RequiredProblem(question.flag, answer); problem != "" {
				fmt.Fprintf(out, "  %q: %s\n", answer, problem)
				continue
			}
			*question.value = answer
		}
	}
	return nil
}

// readLine reads a line. If the context ends before, it returns at once with its error, and goes on reading in the
// background: input cannot be interrupted.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := in.ReadString('\n')
		read <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-read:
		return got.line, got.err
	}
}
