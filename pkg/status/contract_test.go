// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/status"
)

// What follows does not compile if a signature changes that existing operators rely on. An interface that gains a method is
// not satisfied by existing operators any more.
var (
	_ func(status.Status) string         = status.Status.String
	_ func(string) status.StatusAnalyzer = status.NewStatusAnalyzer
	_ status.StatusAnalyzer              = (interface {
		ComputeStatus(object *unstructured.Unstructured) (status.Status, error)
	})(nil)
)

// TestConstantsOfTheContract pins the values that inventories have.
func TestConstantsOfTheContract(t *testing.T) {
	t.Parallel()
	got := []status.Status{
		status.CurrentStatus, status.FailedStatus, status.InProgressStatus, status.NotFoundStatus, status.TerminatingStatus, status.UnknownStatus,
	}
	want := []status.Status{
		status.Status(kstatus.CurrentStatus), status.Status(kstatus.FailedStatus), status.Status(kstatus.InProgressStatus),
		status.Status(kstatus.NotFoundStatus), status.Status(kstatus.TerminatingStatus), status.Status(kstatus.UnknownStatus),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constants (-want +got):\n%s", diff)
	}
}
