// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
)

// Reserved says why a release, which has this namespace and name, must not have a rendered object as one of its
// dependents, hooks or tests, because releases are recorded or locked by such objects; empty if it may. What an object
// is that already exists, only the API server knows: then the engine refuses it.
func Reserved(namespace, name string, object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind()
	at := cmp.Or(object.GetNamespace(), namespace)
	switch kind {
	case schema.GroupKind{Kind: "Secret"}:
		secretType, _, _ := unstructured.NestedString(object.Object, "type")
		switch {
		case secretType == string(SecretType):
			return fmt.Sprintf("type: %s is that of records of releases", secretType)
		case at == namespace && object.GetName() == prefix+name:
			return fmt.Sprintf("metadata.name: %s is that of the record of the release", object.GetName())
		}
	case schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}:
		if strings.HasPrefix(object.GetName(), prefix) {
			return fmt.Sprintf("metadata.name: Leases whose names begin with %q are locks of releases", prefix)
		}
	case schema.GroupKind{Kind: "ConfigMap"}:
		if strings.HasPrefix(object.GetName(), ancestorPrefix) {
			return fmt.Sprintf("metadata.name: ConfigMaps whose names begin with %q are records of releases of an earlier version of clm", ancestorPrefix)
		}
	}
	if key := observe.RecordLabel(object.GetLabels()); key != "" {
		return fmt.Sprintf("metadata.labels: %s marks parts of records of dependents", key)
	}
	return ""
}
