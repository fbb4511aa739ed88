// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
)

func TestClustersThatAreOthers(t *testing.T) {
	t.Parallel()
	local, a, b := Cluster{UID: LocalCluster}, Cluster{UID: "a", Host: "https://one"}, Cluster{UID: "b", Host: "https://one"}
	for _, test := range []struct {
		reason            string
		recorded, present Cluster
		want              bool
	}{
		{"nobody has recorded where they are", Cluster{}, a, false},
		{"where the kubeconfig leads to must not be read", a, Cluster{}, false},
		{"the address has changed, and the cluster has not", a, Cluster{UID: "a", Host: "https://two"}, false},
		{"the address is the same, and the cluster is another one", a, b, true},
		{"from here to there", local, a, true},
		{"from there to here", a, local, true},
		{"a kubeconfig leads to the cluster of the component", local, Cluster{UID: "own", Host: "https://own"}, false},
		{"it did", Cluster{UID: "own", Host: "https://own"}, local, false},
		{"here", local, local, false},
	} {
		if got := test.recorded.IsOther(test.present, "own"); got != test.want {
			t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
		}
		if got := ParseCluster(test.recorded.String()); got != test.recorded {
			t.Errorf("%s: %v became %v", test.reason, test.recorded, got)
		}
	}
}
