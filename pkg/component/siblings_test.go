// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
)

type reader struct{ client.Reader }

// TestAmong asks the API server only if the cache may lag behind, and calls again only if it does.
func TestAmong(t *testing.T) {
	t.Parallel()
	older := map[apitypes.NamespacedName]inventory.Relation{{Name: "b"}: inventory.RelationOlder}
	for _, tc := range []struct {
		reason       string
		cached, live map[apitypes.NamespacedName]inventory.Relation
		foreign      bool
		calls        int
		err          string
	}{
		{"nothing foreign", nil, older, false, 1, ""},
		{"foreign, and the cache is right", older, older, true, 1, "refused"},
		{"foreign, and the cache lags behind", nil, older, true, 2, ""},
		{"an unknown relation", map[apitypes.NamespacedName]inventory.Relation{{Name: "b"}: "Equal"}, nil, false, 0, `/b: invalid relation "Equal"; must be Older or Newer`},
		{"itself", map[apitypes.NamespacedName]inventory.Relation{{Name: "a"}: inventory.RelationOlder}, nil, false, 0, "not a relation to itself"},
	} {
		cache, server := &reader{}, &reader{}
		s := siblingCalls{
			Cached: cache, Live: server, Self: apitypes.NamespacedName{Name: "a"}, OwnerID: apitypes.NamespacedName.String,
			Find: func(_ context.Context, r client.Reader) (map[apitypes.NamespacedName]inventory.Relation, error) {
				if r == server {
					return tc.live, nil
				}
				return tc.cached, nil
			},
		}
		calls := 0
		err := s.Among(t.Context(), func(siblings map[string]inventory.Relation) (bool, error) {
			calls++
			if tc.foreign && (calls == 1) {
				return true, errors.New("refused")
			}
			if tc.foreign && siblings["/b"] != inventory.RelationOlder {
				t.Errorf("%s: unexpected siblings %v", tc.reason, siblings)
			}
			return false, nil
		})
		if calls != tc.calls || tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %d calls, %v", tc.reason, calls, err)
		}
	}
}
