// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

const (
	GroupCRD        = "apiextensions.k8s.io"
	GroupAPIService = "apiregistration.k8s.io"
	GroupRBAC       = "rbac.authorization.k8s.io"
	GroupWebhook    = "admissionregistration.k8s.io"
)

// IsCRD reports whether objects of the kind are CustomResourceDefinitions.
func IsCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupCRD, Kind: "CustomResourceDefinition"}
}

// IsAPIService reports whether objects of the kind are APIServices.
func IsAPIService(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupAPIService, Kind: "APIService"}
}

// IsNamespace reports whether objects of the kind are namespaces.
func IsNamespace(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Namespace"}
}

// DefinesTypes reports whether objects of the kind bring types into the cluster.
func DefinesTypes(kind schema.GroupKind) bool {
	return IsCRD(kind) || IsAPIService(kind)
}

// IsWebhookConfiguration reports whether objects of the kind register admission webhooks.
func IsWebhookConfiguration(kind schema.GroupKind) bool {
	return kind.Group == GroupWebhook && (kind.Kind == "ValidatingWebhookConfiguration" || kind.Kind == "MutatingWebhookConfiguration")
}

// TierLast is the tier of webhook configurations that do not exist. It begins when everything before it in its stage has been written.
const TierLast = 1

// ApplyTier ranks objects within a stage: what others refer to comes first. A webhook configuration that does not exist comes last: what
// answers its calls may be among the objects that are denied until it does. One that exists denies them already, and may do so because
// of what its manifest changes. Of one that does not have our label, the observer does not know.
func ApplyTier(kind schema.GroupKind, exists bool) int {
	if IsWebhookConfiguration(kind) {
		if !exists {
			return TierLast
		}
		return -3
	}
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}:
		return -4
	case schema.GroupKind{Group: GroupCRD, Kind: "CustomResourceDefinition"},
		schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
		schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"},
		schema.GroupKind{Group: GroupRBAC, Kind: "ClusterRole"},
		schema.GroupKind{Group: GroupRBAC, Kind: "Role"}:
		return -2
	case schema.GroupKind{Kind: "ServiceAccount"},
		schema.GroupKind{Kind: "LimitRange"},
		schema.GroupKind{Kind: "ResourceQuota"},
		schema.GroupKind{Kind: "ConfigMap"},
		schema.GroupKind{Kind: "Secret"},
		schema.GroupKind{Group: GroupRBAC, Kind: "ClusterRoleBinding"},
		schema.GroupKind{Group: GroupRBAC, Kind: "RoleBinding"}:
		return -1
	default:
		return 0
	}
}

// DeleteTier ranks kinds within a stage of deletion: what others need to end properly goes last.
func DeleteTier(kind schema.GroupKind) int {
	switch {
	case DefinesTypes(kind):
		return -1
	case IsWebhookConfiguration(kind):
		return 1
	}
	switch kind {
	case schema.GroupKind{Kind: "Service"},
		schema.GroupKind{Kind: "ConfigMap"},
		schema.GroupKind{Kind: "Secret"}:
		return 2
	case schema.GroupKind{Kind: "Namespace"}:
		return 3
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
		schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}:
		return 4
	default:
		return 0
	}
}
