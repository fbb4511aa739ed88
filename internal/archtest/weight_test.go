// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Libraries that an operator carries only if it imports what needs them. Each is the beginning of import paths.
var (
	// The expressions of ready-when and fail-when link text/template, although nothing executes a template; so the
	// engine only avoids the others.
	templates = []string{"text/template", "html/template", "github.com/Masterminds/sprig"}
	kustomize = []string{"sigs.k8s.io/kustomize", "github.com/go-git"}
	helm      = []string{"helm.sh/helm", "oras.land", "github.com/google/go-containerregistry"}
	terminals = []string{"github.com/hinshun/vt10x", "github.com/spf13/cobra", "k8s.io/cli-runtime"}
	servers   = []string{"k8s.io/kubernetes", "k8s.io/apiserver", "go.etcd.io", "sigs.k8s.io/kwok", module + "/pkg/sandbox"}
	sops      = []string{"github.com/getsops", "filippo.io/age", "cloud.google.com", "github.com/aws", "github.com/Azure/azure-sdk-for-go"}
	commandly = []string{module + "/clm", module + "/bench", module + "/internal/testenv", "testing"}
)

// TestWhatUsersCarry keeps the packages that operators import free of what they do not need.
func TestWhatUsersCarry(t *testing.T) {
	t.Parallel()
	never := slices.Concat(servers, sops, commandly)
	cases := map[string]struct {
		reason    string
		forbidden []string
	}{
		"pkg/types":     {"words only", slices.Concat(never, terminals, templates, helm, kustomize)},
		"pkg/cluster":   {"a client, and no more", slices.Concat(never, terminals, templates, helm, kustomize)},
		"pkg/status":    {"an analyzer, and no more", slices.Concat(never, terminals, templates, helm, kustomize)},
		"pkg/inventory": {"words only", slices.Concat(never, terminals, templates, helm, kustomize)},
		"pkg/reconciler": {
			"the engine gets objects and does not ask where they come from",
			slices.Concat(never, terminals, templates[1:], helm, kustomize),
		},
		"pkg/probes":    {"a judge, and no more", slices.Concat(never, terminals, templates[1:], helm, kustomize)},
		"pkg/generator": {"what every generator needs", slices.Concat(never, terminals, templates, helm, kustomize)},
		"pkg/component": {
			"an operator whose objects are written in Go renders nothing; Kustomize alone adds two thirds to its binary",
			slices.Concat(never, terminals, templates[1:], helm, kustomize),
		},
		"pkg/operator":            {"an operator has pkg/component anyway", slices.Concat(never, terminals, templates[1:], helm, kustomize)},
		"pkg/manifests":           {"transformers use templates and Kustomize's patches", slices.Concat(never, terminals, helm, []string{"github.com/go-git"})},
		"pkg/manifests/helm":      {"charts that are embedded are not pulled from registries", slices.Concat(never, helm[1:], []string{"github.com/go-git"})},
		"pkg/manifests/kustomize": {"a kustomization is no chart", slices.Concat(never, helm)},
		"examples/hello-operator": {"the operator of the README is a small one", slices.Concat(never, templates[1:], helm, kustomize)},
		"pkg/sandbox":             {"a sandbox is started, not linked", slices.Concat(servers[:4], sops, helm, kustomize)},
	}
	for path, tc := range cases {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for _, dependency := range dependencies(t, path) {
				for _, forbidden := range tc.forbidden {
					if dependency == forbidden || strings.HasPrefix(dependency, forbidden+"/") {
						t.Errorf("%s carries %s: %s (go list -deps ./%s)", path, dependency, tc.reason, path)
					}
				}
			}
		})
	}
}

// dependencies returns the import paths of a package's dependencies, itself included.
func dependencies(t *testing.T, path string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/"+path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s: %v", cmd, err)
	}
	found := strings.Fields(string(out))
	if len(found) == 0 {
		t.Fatalf("%s has printed nothing", cmd)
	}
	return found
}
