// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/pkg/cluster"
)

func TestIsNoMatch(t *testing.T) {
	t.Parallel()
	v1, v2 := schema.GroupVersion{Group: "g", Version: "v1"}, schema.GroupVersion{Group: "g", Version: "v2"}
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "")
	for reason, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                         {nil, false},
		"a kind that is not served":        {&meta.NoKindMatchError{}, true},
		"a resource that is not served":    {fmt.Errorf("wrapped: %w", &meta.NoResourceMatchError{}), true},
		"a group that is gone":             {&apiutil.ErrResourceDiscoveryFailed{v1: notFound}, true},
		"a group that was looked up first": {fmt.Errorf("wrapped: %w", &apiutil.ErrResourceDiscoveryFailed{v1: &meta.NoResourceMatchError{}}), true},
		"a group that partly answers":      {&apiutil.ErrResourceDiscoveryFailed{v1: notFound, v2: errors.New("no answer")}, false},
		"an object that does not exist":    {notFound, false},
		"another error":                    {errors.New("no answer"), false},
	} {
		if got := cluster.IsNoMatch(tt.err); got != tt.want {
			t.Errorf("%s: got %t", reason, got)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
