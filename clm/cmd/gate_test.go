// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// gate is not ready before the test says so.
const gate = `
apiVersion: v1
kind: Service
metadata: {name: gate, annotations: {clm.cs.sap.com/status-hint: conditions=Open}}
spec: {ports: [{port: 80}]}
`

// gated is a release of three waves, of which the second one is not ready before the test says so.
const gated = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {clm.cs.sap.com/apply-order: "-1"}}
data: {value: "VALUE"}
---` + gate + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, annotations: {clm.cs.sap.com/apply-order: "1"}}
data: {value: "VALUE"}
`

// gated writes the manifests with a value.
func (p *place) gated(value string) string {
	p.Helper()
	return p.file("gated.yaml", strings.ReplaceAll(gated, "VALUE", value))
}

// reachGate waits until the second wave has begun.
func (p *place) reachGate() {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "gate"}, &corev1.Service{})
		return err == nil, fmt.Sprint(err)
	})
}

// openGate makes the second wave ready.
func (p *place) openGate() {
	p.Helper()
	p.setGate("True")
}

// setGate sets the condition that says whether the second wave is ready.
func (p *place) setGate(status string) {
	p.Helper()
	gate := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "gate"}}
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"Open","status":"`+status+`","reason":"Opened","message":"","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`))
	if err := p.client.Status().Patch(p.Context(), gate, patch); err != nil {
		p.Fatal(err)
	}
}

// expectEnds compares what the first and the last wave have; nil means that the object does not exist.
func (p *place) expectEnds(first, last map[string]string) {
	p.Helper()
	if diff := cmp.Diff([]map[string]string{first, last}, []map[string]string{p.configMap("first"), p.configMap("last")}); diff != "" {
		p.Errorf("first and last wave (-want +got):\n%s", diff)
	}
}

func value(text string) map[string]string { return map[string]string{"value": text} }

// expectHistory compares the states of all revisions, oldest first.
func (p *place) expectHistory(want ...string) {
	p.Helper()
	var states []string
	for i, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
		if number, _, _ := unstructured.NestedInt64(revision.Object, "status", "number"); number != int64(i+1) {
			p.Errorf("revision %d has number %d", i+1, number)
		}
		states = append(states, p.text(revision, "status", "state"))
	}
	if diff := cmp.Diff(want, states); diff != "" {
		p.Errorf("states of the revisions (-want +got):\n%s", diff)
	}
}

// locked reports whether a process has the lock of the release.
func (p *place) locked(name string) bool {
	p.Helper()
	return p.lease(name) != nil
}

// lease returns the Lease of a release; nil if there is none.
func (p *place) lease(name string) *metav1.PartialObjectMetadata {
	p.Helper()
	lease := &metav1.PartialObjectMetadata{}
	lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm." + name}, lease)
	switch {
	case client.IgnoreNotFound(err) != nil:
		p.Fatal(err)
	case err != nil:
		return nil
	}
	return lease
}

// consenting adds --yes to a command that changes something.
func consenting(args []string) []string {
	changes := slices.Contains([]string{"delete", "adopt", "orphan", "move"}, args[0]) || slices.Contains(args, "--fix") || slices.Contains(args, "--correct")
	if !changes || slices.Contains(args, "-y") || slices.Contains(args, "--yes") {
		return args
	}
	return append(slices.Clone(args), "--yes")
}

// command returns clm as a process that is not asked anything.
func (p *place) command(args ...string) *exec.Cmd { return p.process(consenting(args)...) }

// process returns clm as a process without a terminal.
func (p *place) process(args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], append(args, "--kubeconfig", p.kubeconfig, "--namespace", p.namespace)...)
	command.Env = append(os.Environ(), clmVariable+"=1")
	// Otherwise clm would ask the user who runs the tests on a terminal.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command
}

// start starts clm as a process, and returns what it writes to standard error.
func (p *place) start(args ...string) (*exec.Cmd, *testenv.Output) {
	p.Helper()
	command, output := p.command(args...), &testenv.Output{}
	command.Stderr = output
	if err := command.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	return command, output
}
