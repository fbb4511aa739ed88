// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helmRevision is a revision of a Helm release, recorded as Helm 3 and 4 do. The tests in internal/helm/parity
// work with records that Helm itself has written.
type helmRevision struct {
	number           int
	status, manifest string
	// hooks are manifests by their files.
	hooks map[string]string
}

// recordHelm records revisions of a Helm release, which has the value number.
func (p *place) recordHelm(release string, revisions ...helmRevision) {
	p.Helper()
	p.recordDescribed(release, "done", revisions...)
}

// recordDescribed is recordHelm with a description of all revisions.
func (p *place) recordDescribed(release, description string, revisions ...helmRevision) {
	p.Helper()
	for _, revision := range revisions {
		hooks := []map[string]any{}
		for path, manifest := range revision.hooks {
			hooks = append(hooks, map[string]any{"path": path, "manifest": manifest})
		}
		raw, err := json.Marshal(map[string]any{
			"name": release, "namespace": p.namespace, "version": revision.number, "manifest": revision.manifest, "hooks": hooks,
			"config": map[string]any{"number": revision.number},
			"chart":  map[string]any{"metadata": map[string]any{"name": "shop", "version": fmt.Sprintf("1.0.%d", revision.number), "apiVersion": "v2"}},
			"info": map[string]any{
				"status": revision.status, "description": description, "first_deployed": "2024-01-01T00:00:00Z",
				"last_deployed": fmt.Sprintf("2024-01-01T00:00:%02d.123456789Z", revision.number), "deleted": "",
			},
		})
		if err != nil {
			p.Fatal(err)
		}
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		if _, err := writer.Write(raw); err != nil {
			p.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			p.Fatal(err)
		}
		p.createAs("helm", &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision.number),
				Labels: map[string]string{"owner": "helm", "name": release, "status": revision.status, "version": fmt.Sprint(revision.number)},
			},
			Type: "helm.sh/release.v1",
			Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(compressed.Bytes()))},
		})
	}
}

// createAs creates an object as a field manager.
func (p *place) createAs(manager string, object client.Object) {
	p.Helper()
	object.SetNamespace(p.namespace)
	if err := p.client.Create(p.Context(), object, client.FieldOwner(manager)); err != nil {
		p.Fatal(err)
	}
}

// ofHelm creates ConfigMaps as Helm does, each with its name as value.
func (p *place) ofHelm(release string, names ...string) {
	p.Helper()
	for _, name := range names {
		p.createAs("helm", &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": p.namespace},
			},
			Data: map[string]string{"value": name},
		})
	}
}

// helmMarks returns the annotations of Helm on a ConfigMap, and whether it has the label that Helm sets.
func (p *place) helmMarks(name string) string {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		p.Fatal(err)
	}
	return object.Annotations["meta.helm.sh/release-name"] + object.Annotations["meta.helm.sh/release-namespace"] + object.Labels["app.kubernetes.io/managed-by"]
}

// helmRecords returns the names of the Secrets in which Helm has recorded a release.
func (p *place) helmRecords(release string) []string {
	p.Helper()
	list := &corev1.SecretList{}
	if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace), client.MatchingLabels{"owner": "helm", "name": release}); err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	return names
}
