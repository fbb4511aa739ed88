// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStepOrder compares the table of steps with the order that the contract of the package promises.
func TestStepOrder(t *testing.T) {
	t.Parallel()
	common := []string{
		"pass.acknowledge", "pass.noteOrphaning", "pass.recall", "pass.checkSuspended", "pass.load", "pass.checkIdentity", "pass.track", "pass.afterRead",
		"pass.visitTarget", "pass.connect", "pass.visitFormer",
	}
	for _, test := range []struct {
		reason   string
		deleting bool
		want     []string
	}{
		{
			reason: "the finalizer is on the component before the first dependent is written",
			want: []string{
				"pass.checkPresence", "pass.observe", "pass.leaveFormer", "pass.archive", "pass.ensureFinalizer", "pass.suspend", "pass.beforeReconcile", "pass.apply",
				"pass.afterReconcile", "pass.markReady",
			},
		},
		{
			reason:   "nothing is deleted before all checks, and the finalizer goes last",
			deleting: true,
			want: []string{
				"pass.findUnrecorded", "pass.checkApproved", "pass.beforeDelete", "pass.checkAllowed", "pass.checkForeignFinalizers", "pass.runPreDeleteHooks",
				"pass.deleteDependents", "pass.checkUnlisted", "pass.runPostDeleteHooks", "pass.afterDelete", "pass.removeHooks",
				"pass.removeRecord", "pass.removeFinalizer",
			},
		},
	} {
		var got []string
		for _, s := range (&pass{deleting: test.deleting}).steps() {
			got = append(got, nameOf(s))
		}
		if d := cmp.Diff(append(append([]string{}, common...), test.want...), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, d)
		}
	}
}

// nameOf returns the type and the name of the method behind a step.
func nameOf(s step) string {
	name := runtime.FuncForPC(reflect.ValueOf(s).Pointer()).Name()
	name = strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], "-fm")
	name = strings.TrimPrefix(name, "component.")
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}
