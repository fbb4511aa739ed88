// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	forbidden := fmt.Errorf("reading: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no")))
	const denied = `reading: secrets "a" is forbidden: no`
	refusal, fenced, passing := fmt.Errorf("deleting: %w", inventory.NewRefusedError("bad")), &inventory.FencedError{Reason: errors.New("over")}, errors.New("no answer")
	for _, tc := range []struct {
		reason                    string
		errs                      []error
		text                      string
		refused, stopped, missing bool
	}{
		{"nothing is wrong", []error{nil, nil}, "", false, false, false},
		{"a retry changes nothing", []error{nil, refusal}, "deleting: bad", true, false, false},
		{"a retry changes nothing about either", []error{refusal, refusal}, "deleting: bad\ndeleting: bad", true, false, false},
		{"a retry may change something", []error{refusal, passing}, "deleting: bad\nno answer", false, false, false},
		{"whatever came first", []error{passing, refusal}, "no answer\ndeleting: bad", false, false, false},
		{"the owner does not confirm", []error{refusal, fenced}, "deleting: bad\n" + fenced.Error(), false, true, false},
		{"the permission is missing", []error{forbidden, forbidden}, denied + "\n" + denied, false, false, true},
		{"and something is refused", []error{refusal, forbidden}, "deleting: bad\n" + denied, false, false, true},
		{"and something may go away", []error{forbidden, passing}, denied + "\nno answer", false, false, false},
		{"of which the server has told", []error{apierrors.NewInternalError(errors.New("x")), forbidden}, "Internal error occurred: x\n" + denied, false, false, false},
	} {
		err := Join(tc.errs...)
		var text string
		if err != nil {
			text = err.Error()
		}
		var refused *inventory.RefusedError
		var stopped *inventory.FencedError
		if text != tc.text || errors.As(err, &refused) != tc.refused || errors.As(err, &stopped) != tc.stopped || apierrors.IsForbidden(err) != tc.missing {
			t.Errorf("%s: got %q, refused %v, fenced %v, permission missing %t", tc.reason, text, refused, stopped, apierrors.IsForbidden(err))
		}
	}
}
