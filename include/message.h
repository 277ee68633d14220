/* What older programs include for armci_msg_*: see armci.h. */
#ifndef HPVM_ARMCI_MESSAGE_H
#define HPVM_ARMCI_MESSAGE_H
#include <armci.h>
#endif
