// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Guard returns a writer through which no text can control the terminal, whoever has written it. It escapes characters
// as [Escape] does, except line breaks and the colours of texts. What is not a terminal, such as a file, is returned as
// it is: programs get exact texts.
func Guard(out io.Writer) io.Writer {
	if !IsTerminal(out) {
		return out
	}
	return &guard{out: out}
}

type guard struct {
	out io.Writer

	mu sync.Mutex
	// begun is the beginning of a character that ends in the next text.
	begun string
}

// Fd lets the writer count as a terminal.
func (g *guard) Fd() uintptr {
	fd, _ := descriptor(g.out)
	return uintptr(fd)
}

// Write writes all complete characters.
func (g *guard) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	whole := g.begun + string(text)
	end := len(whole)
	for i := 1; i < utf8.UTFMax && i <= len(whole); i++ {
		if start := len(whole) - i; utf8.RuneStart(whole[start]) {
			if !utf8.FullRuneInString(whole[start:]) {
				end = start
			}
			break
		}
	}
	g.begun = whole[end:]
	if _, err := io.WriteString(g.out, escape(strings.ReplaceAll(whole[:end], "\r\n", "\n"), func(rest string) int {
		if rest[0] == '\n' {
			return 1
		}
		return colors(rest)
	})); err != nil {
		return 0, err
	}
	return len(text), nil
}

// color matches what colours text. It cannot make text invisible: there are no backgrounds, no black, and no
// concealment.
var color = regexp.MustCompile(`^\x1b\[(?:(?:0?[0-4]|2[2-4]|3[1-79]|9[0-7])(?:;(?:0?[0-4]|2[2-4]|3[1-79]|9[0-7]))*)?m`)

// colors returns the length of the colour sequence at the beginning of a text; 0 if there is none.
func colors(text string) int {
	if text[0] != '\x1b' {
		return 0
	}
	return len(color.FindString(text))
}
