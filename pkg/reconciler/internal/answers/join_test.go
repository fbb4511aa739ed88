// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/component-operator/runtime/pkg/inventory"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	refusal, fenced, passing := fmt.Errorf("deleting: %w", inventory.NewRefusedError("bad")), &inventory.FencedError{Reason: errors.New("over")}, errors.New("no answer")
	for _, tc := range []struct {
		reason           string
		errs             []error
		text             string
		refused, stopped bool
	}{
		{"nothing is wrong", []error{nil, nil}, "", false, false},
		{"a retry changes nothing", []error{nil, refusal}, "deleting: bad", true, false},
		{"a retry changes nothing about either", []error{refusal, refusal}, "deleting: bad\ndeleting: bad", true, false},
		{"a retry may change something", []error{refusal, passing}, "deleting: bad\nno answer", false, false},
		{"whatever came first", []error{passing, refusal}, "no answer\ndeleting: bad", false, false},
		{"the owner does not confirm", []error{refusal, fenced}, "deleting: bad\n" + fenced.Error(), false, true},
	} {
		err := Join(tc.errs...)
		var text string
		if err != nil {
			text = err.Error()
		}
		var refused *inventory.RefusedError
		var stopped *inventory.FencedError
		if text != tc.text || errors.As(err, &refused) != tc.refused || errors.As(err, &stopped) != tc.stopped {
			t.Errorf("%s: got %q, refused %v, fenced %v", tc.reason, text, refused, stopped)
		}
	}
}
