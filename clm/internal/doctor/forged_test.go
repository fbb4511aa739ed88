// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/doctor"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestLargeRecordsAreReadOneByOne has records that somebody has written to fill the memory of the doctor. They do not
// keep it from finding what is wrong with another release.
func TestLargeRecordsAreReadOneByOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	config, requests := testenv.CountingConfig(t)
	s := p.open(config)
	p.apply(s, "z", "own")
	if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "own"}}); err != nil {
		t.Fatal(err)
	}
	const items = 60_000
	content := []byte("[" + strings.TrimSuffix(strings.Repeat(`{"version":"v1","kind":"A","name":"a","phase":"Completed"},`, items), ",") + "]")
	list := fmt.Sprintf(`{"items":%d,"checksum":%q,"packed":%%q}`, items, chunks.Checksum([][]byte{content}))
	packed, err := chunks.PackItems([]chunks.Item{{Value: content[1 : len(content)-1]}})
	if err != nil {
		t.Fatal(err)
	}
	list = strings.Replace(list, "%q", fmt.Sprintf("%q", base64.StdEncoding.EncodeToString(packed.Packed)), 1)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm." + name, Labels: map[string]string{"clm.cs.sap.com/record": "release"}}, Type: "clm.cs.sap.com/release"}
		secret.Data = map[string][]byte{"release": []byte(`{"version":1,"state":"Ready","inventory":` + list + `}`)}
		if err := p.client.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	damaged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm.d", Labels: map[string]string{"clm.cs.sap.com/record": "release"}}, Type: "clm.cs.sap.com/release"}
	damaged.Data = map[string][]byte{"release": []byte(`{"version":1,"revisions":[` + strings.TrimSuffix(strings.Repeat("{},", 240_000), ",") + `]}`)}
	if err := p.client.Create(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	requests.Reset()
	diagnosis, err := doctor.Examine(t.Context(), s, doctor.Request{Namespace: p.namespace})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, finding := range diagnosis.Findings {
		found = append(found, finding.Release+" "+string(finding.Kind))
	}
	want := fmt.Sprintf("[%[1]s/d DamagedRecord %[1]s/z Missing]", p.namespace)
	if fmt.Sprint(found) != want || diagnosis.Releases != 5 {
		t.Errorf("want %s, got %s of %d releases", want, found, diagnosis.Releases)
	}
	reads := map[string]int{}
	for _, name := range append(names, "z") {
		reads[name] = requests.Count(func(request testenv.Request) bool {
			return request.Method == http.MethodGet && request.Resource == "secrets" && request.Name == "clm."+name
		})
	}
	if got := fmt.Sprint(reads); got != "map[a:2 b:2 c:2 z:2]" {
		t.Errorf("unexpected number of reads: %s", got)
	}
	for _, name := range append(names, "d") {
		if err := p.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm." + name}}, client.GracePeriodSeconds(0)); err != nil {
			t.Error(err)
		}
	}
	p.delete(s, "z")
}
