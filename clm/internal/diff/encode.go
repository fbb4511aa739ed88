// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

// encoded are those lines that another object has as well, each as one character, for a library that compares texts.
type encoded struct {
	text   []rune
	places []int // where each character comes from
}

// Surrogates are numbers of no characters: a text that has them would not survive.
const (
	surrogates      = 0xd800
	afterSurrogates = 0xe000
)

// An alphabet gives each different line a character.
type alphabet map[string]rune

// newAlphabet has the lines of both objects.
func newAlphabet(before, after []line) alphabet {
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

func (a alphabet) encode(lines []line) encoded {
	var e encoded
	for i, line := range lines {
		if character := a[line.text]; character != 0 {
			e.text, e.places = append(e.text, character), append(e.places, i)
		}
	}
	return e
}
