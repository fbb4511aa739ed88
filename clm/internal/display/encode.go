// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

// encoded is the part of an object's lines that the other object has as well, one character per line, for a library
// that compares texts.
type encoded struct {
	text        []rune
	lineNumbers []int // line numbers of the characters
}

// Surrogates are not characters: a text that contains them would be garbled.
const (
	surrogates      = 0xd800
	afterSurrogates = 0xe000
)

// An alphabet assigns a character to each distinct line.
type alphabet map[string]rune

// newAlphabet returns an alphabet for the lines of both objects.
func newAlphabet(before, after []diffLine) alphabet {
	a := alphabet{}
	there := map[string]bool{}
	for _, line := range before {
		there[line.text] = true
	}
	for _, line := range after {
		if !there[line.text] || a[line.text] != 0 {
			continue
		}
		character := rune(len(a) + 1)
		if character >= surrogates {
			character += afterSurrogates - surrogates
		}
		a[line.text] = character
	}
	return a
}

func (a alphabet) encode(lines []diffLine) encoded {
	var e encoded
	for i, line := range lines {
		if character := a[line.text]; character != 0 {
			e.text, e.lineNumbers = append(e.text, character), append(e.lineNumbers, i)
		}
	}
	return e
}
