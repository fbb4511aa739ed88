// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestLongestDelay(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
	for _, tc := range []struct {
		reason string
		err    error
		long   bool
	}{
		{"the watch ended", nil, false},
		{"a server that was down for long is watched soon after it is back", errors.New("connection refused"), false},
		{"permissions change rarely", fmt.Errorf("failed to list: %w", forbidden), true},
	} {
		if got := longestDelay(tc.err) > time.Minute; got != tc.long {
			t.Errorf("%s: more than a minute: %t", tc.reason, got)
		}
	}
}
